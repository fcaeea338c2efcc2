CREATE TABLE plants (
  seq           INTEGER PRIMARY KEY,     -- 1, 2, 3 and so on: the order in which they were stored
  id            INTEGER NOT NULL UNIQUE, -- the client's own, any int64
  name          TEXT    NOT NULL,
  tag           TEXT,
  created_at_ms INTEGER NOT NULL,        -- milliseconds since 1970, UTC; never less than the one before
  created_by    TEXT    NOT NULL         -- the name of the token that sent it
) STRICT;

-- How many plants of a tag each window of 1024 holds: window 0 is seq 1 to 1024, and so on. Enough to find the plants of a
-- tag, and to count them, at a hundredth of what an index would cost each create. The last window is only counted once it
-- is full; tag_windows_end has the last seq that is counted.
CREATE TABLE tag_windows (
  tag    TEXT    NOT NULL,
  window INTEGER NOT NULL,
  plants INTEGER NOT NULL,
  PRIMARY KEY (tag, window)
) STRICT, WITHOUT ROWID;
CREATE TABLE tag_windows_end (seq INTEGER NOT NULL) STRICT;
INSERT INTO tag_windows_end VALUES (0);
