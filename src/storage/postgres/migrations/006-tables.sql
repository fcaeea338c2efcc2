-- The id alone is the key, so that a distributed engine can spread the table by it.
CREATE TABLE plants (
  id            BIGINT NOT NULL PRIMARY KEY, -- the client's own, any int64
  name          TEXT   NOT NULL,
  tag           TEXT,
  created_at_ms BIGINT NOT NULL,             -- milliseconds since 1970, UTC
  created_by    TEXT   NOT NULL              -- the name of the token that sent it
);
-- For the operator's side, which reads in the order of creation, with or without a tag. An entry of a B-tree has at most 2704
-- bytes, and a tag can be longer; 100 characters have at most 400.
CREATE INDEX plants_by_time ON plants (created_at_ms, id);
CREATE INDEX plants_by_tag_prefix ON plants (left(tag, 100), created_at_ms, id);

CREATE TABLE tokens (
  digest          TEXT   NOT NULL PRIMARY KEY, -- SHA-256 of the secret, in hex; the secret itself is stored nowhere
  id              TEXT   NOT NULL,
  name            TEXT   NOT NULL,
  scopes          TEXT   NOT NULL,             -- separated by spaces
  created_at_ms   BIGINT NOT NULL,
  expires_at_ms   BIGINT,
  revoked_at_ms   BIGINT,
  created_by      TEXT   NOT NULL,             -- the actor of its entry in audit_trail
  last_used_at_ms BIGINT                       -- to the minute
);

-- One row for each running node, which it writes to find out whether plants can be stored.
CREATE TABLE plant_store_nodes (
  node       TEXT   NOT NULL PRIMARY KEY, -- a random name of the process
  seen_at_ms BIGINT NOT NULL
);

CREATE TABLE audit_trail (
  id      TEXT   NOT NULL PRIMARY KEY, -- hexadecimal digits, first those of at_ms, so that its order is that of time
  at_ms   BIGINT NOT NULL,             -- milliseconds since 1970, UTC
  actor   TEXT   NOT NULL,             -- the name of a token, oidc: and a caller, or os: and a user of the command line
  action  TEXT   NOT NULL,
  subject TEXT   NOT NULL,             -- what it was done to, such as the name of a token
  address TEXT,                        -- of the peer; NULL on the command line
  detail  TEXT   NOT NULL
);
