CREATE TABLE plants (
  seq           INTEGER PRIMARY KEY,     -- 1, 2, 3 and so on: the order in which they were stored
  id            INTEGER NOT NULL UNIQUE, -- the client's own, any int64
  name          TEXT    NOT NULL,
  tag           TEXT,
  created_at_ms INTEGER NOT NULL,        -- milliseconds since 1970, UTC; never less than the one before
  created_by    TEXT    NOT NULL         -- the name of the token that sent it
) STRICT;

-- SQLite keeps seq in every index, so this gives the plants of one tag in their order.
CREATE INDEX plants_by_tag ON plants (tag) WHERE tag IS NOT NULL;
