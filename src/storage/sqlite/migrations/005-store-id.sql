-- Which store this is, in the cursors of the change feed: one row. A restored backup gets another id, since plants of the store
-- that it replaces may be missing from it.
CREATE TABLE store_id (id TEXT NOT NULL) STRICT;
INSERT INTO store_id VALUES (lower(hex(randomblob(8))));
