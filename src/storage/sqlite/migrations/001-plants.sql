CREATE TABLE plants (
  seq           INTEGER PRIMARY KEY,     -- 1, 2, 3 and so on: the order in which they were stored
  id            INTEGER NOT NULL UNIQUE, -- the client's own, any int64
  name          TEXT    NOT NULL,
  tag           TEXT,
  created_at_ms INTEGER NOT NULL,        -- milliseconds since 1970, UTC; never less than the one before
  created_by    TEXT    NOT NULL         -- the name of the token that sent it
) STRICT;

-- The store has windows of 1024 plants: window 0 is seq 1 to 1024, and so on. When one is full, it is written down here how
-- many plants of each tag it holds, and all of its names in small letters (ASCII), so that few windows have to be looked
-- through for a tag or a part of a name. Names is NULL where they are too long for that. windows_end has the last seq
-- that is in such a window.
CREATE TABLE tag_windows (
  tag    TEXT    NOT NULL,
  window INTEGER NOT NULL,
  plants INTEGER NOT NULL,
  PRIMARY KEY (tag, window)
) STRICT, WITHOUT ROWID;
CREATE TABLE name_windows (
  window INTEGER PRIMARY KEY,
  names  TEXT
) STRICT;
CREATE TABLE windows_end (seq INTEGER NOT NULL) STRICT;
INSERT INTO windows_end VALUES (0);
