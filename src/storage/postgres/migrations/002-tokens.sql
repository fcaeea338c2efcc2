CREATE TABLE tokens (
  digest        TEXT   NOT NULL PRIMARY KEY, -- SHA-256 of the secret, in hex; the secret itself is nowhere
  id            TEXT   NOT NULL,
  name          TEXT   NOT NULL,
  scopes        TEXT   NOT NULL,             -- separated by spaces
  created_at_ms BIGINT NOT NULL,
  expires_at_ms BIGINT,
  revoked_at_ms BIGINT
);
