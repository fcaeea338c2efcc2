ALTER TABLE tokens ADD COLUMN created_by TEXT;          -- who created it; NULL before this was stored
ALTER TABLE tokens ADD COLUMN last_used_at_ms INTEGER;  -- to the minute
ALTER TABLE tokens ADD COLUMN rate_limit TEXT;          -- such as 100/s; NULL where the service's own applies
CREATE TABLE audit_trail (
  seq     INTEGER PRIMARY KEY, -- 1, 2, 3 and so on; only the oldest rows are ever removed
  at_ms   INTEGER NOT NULL,    -- milliseconds since 1970, UTC
  actor   TEXT    NOT NULL,    -- the name of a token, oidc: and a caller, or os: and a user of the command line
  action  TEXT    NOT NULL,
  subject TEXT    NOT NULL,    -- what it was done to, such as the name of a token
  address TEXT,                -- of the peer; NULL on the command line
  detail  TEXT    NOT NULL
) STRICT;
