CREATE TABLE plants (
  seq           INTEGER PRIMARY KEY,     -- 1, 2, 3 and so on: the order in which they were stored
  id            INTEGER NOT NULL UNIQUE, -- the client's own, any int64
  name          TEXT    NOT NULL,
  tag           TEXT,
  created_at_ms INTEGER NOT NULL,        -- milliseconds since 1970, UTC; never less than the one before
  created_by    TEXT    NOT NULL         -- the name of the token that sent it
) STRICT;

-- Where the plants of a tag are. The service writes it for many plants at a time, so the newest few may not be in it yet:
-- those after the seq in plants_by_tag_end.
CREATE TABLE plants_by_tag (
  tag TEXT    NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (tag, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE plants_by_tag_end (seq INTEGER NOT NULL) STRICT;
INSERT INTO plants_by_tag_end VALUES (0);
