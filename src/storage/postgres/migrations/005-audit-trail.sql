ALTER TABLE tokens ADD COLUMN created_by TEXT;         -- who created it; NULL before this was stored
ALTER TABLE tokens ADD COLUMN last_used_at_ms BIGINT;  -- to the minute
ALTER TABLE tokens ADD COLUMN rate_limit TEXT;         -- such as 100/s; NULL where the service's own applies
CREATE TABLE audit_trail (
  id      TEXT   NOT NULL PRIMARY KEY, -- hexadecimal digits, first those of at_ms, so that its order is that of time
  at_ms   BIGINT NOT NULL,             -- milliseconds since 1970, UTC
  actor   TEXT   NOT NULL,             -- the name of a token, oidc: and a caller, or os: and a user of the command line
  action  TEXT   NOT NULL,
  subject TEXT   NOT NULL,             -- what it was done to, such as the name of a token
  address TEXT,                        -- of the peer; NULL on the command line
  detail  TEXT   NOT NULL
);
