CREATE TABLE plants (
  seq           INTEGER PRIMARY KEY,     -- 1, 2, 3 and so on: the order in which they were stored
  id            INTEGER NOT NULL UNIQUE, -- the client's own, any int64
  name          TEXT    NOT NULL,
  tag           TEXT,
  created_at_ms INTEGER NOT NULL,        -- milliseconds since 1970, UTC; a clock that is set back makes it go back too
  created_by    TEXT    NOT NULL         -- the name of the token that sent it
) STRICT;

-- Summaries of each full block of 1024 plants, so that a search reads only the blocks that may match. Block 0 is seq 1 to 1024,
-- and so on. A block has one row in block_names and one in block_times, and one in block_tags for each of its tags.
CREATE TABLE block_tags (
  tag    TEXT    NOT NULL,
  block  INTEGER NOT NULL,
  plants INTEGER NOT NULL, -- how many in this block have the tag
  PRIMARY KEY (tag, block)
) STRICT, WITHOUT ROWID;
CREATE TABLE block_names (
  block INTEGER PRIMARY KEY,
  names TEXT                 -- all of them, ASCII letters in lower case; NULL if they are too long
) STRICT;
CREATE TABLE block_times (
  block  INTEGER PRIMARY KEY,
  min_ms INTEGER NOT NULL,   -- the lowest and the highest created_at_ms
  max_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE tokens (
  id              TEXT    NOT NULL,
  name            TEXT    NOT NULL,
  digest          TEXT    NOT NULL UNIQUE, -- SHA-256 of the secret, in hex; the secret itself is stored nowhere
  scopes          TEXT    NOT NULL,        -- separated by spaces
  created_at_ms   INTEGER NOT NULL,
  expires_at_ms   INTEGER,
  revoked_at_ms   INTEGER,
  created_by      TEXT    NOT NULL,        -- the actor of its entry in audit_trail
  last_used_at_ms INTEGER                  -- to the minute
) STRICT;

CREATE TABLE audit_trail (
  seq     INTEGER PRIMARY KEY, -- 1, 2, 3 and so on
  at_ms   INTEGER NOT NULL,    -- milliseconds since 1970, UTC
  actor   TEXT    NOT NULL,    -- the name of a token, oidc: and a caller, or os: and a user of the command line
  action  TEXT    NOT NULL,
  subject TEXT    NOT NULL,    -- what it was done to, such as the name of a token
  address TEXT,                -- of the peer; NULL on the command line
  detail  TEXT    NOT NULL
) STRICT;

-- Which store this is, for cursors: one row. A restored backup gets another id, since plants of the store that it replaces may
-- be missing from it.
CREATE TABLE store_id (id TEXT NOT NULL) STRICT;
INSERT INTO store_id VALUES (lower(hex(randomblob(8))));

-- The SHA-256 of each full block of 1024 plants, beside its summaries. docs/backup.md says how to compute it. A block has none if
-- its text is too large, or if it has no plant.
CREATE TABLE block_digests (
  block  INTEGER PRIMARY KEY,
  digest BLOB    NOT NULL     -- 32 bytes
) STRICT;

-- Whether a process writes to the file, or stopped without closing it: one row. A file that is in use and has no WAL lacks what
-- the WAL had.
CREATE TABLE store_use (state TEXT NOT NULL CHECK (state IN ('closed', 'in use'))) STRICT;
INSERT INTO store_use VALUES ('closed');
