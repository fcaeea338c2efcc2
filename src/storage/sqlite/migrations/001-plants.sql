CREATE TABLE plants (
  id            INTEGER PRIMARY KEY, -- the client's own, any int64
  name          TEXT    NOT NULL,
  tag           TEXT,
  created_at_ms INTEGER NOT NULL,    -- milliseconds since 1970, UTC
  created_by    TEXT    NOT NULL     -- the name of the token that sent it
) STRICT;
