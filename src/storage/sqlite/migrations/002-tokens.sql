CREATE TABLE tokens (
  id            TEXT    NOT NULL,
  name          TEXT    NOT NULL,
  digest        TEXT    NOT NULL UNIQUE, -- SHA-256 of the secret, in hex; the secret itself is nowhere
  scopes        TEXT    NOT NULL,        -- separated by spaces
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER,
  revoked_at_ms INTEGER
) STRICT;
