-- What shows that the store holds what it stored. Only new tables: the first start on a file of 1.0.0 is as fast as any other.

-- The SHA-256 of each full block of 1024 plants, beside its summaries. docs/backup.md says how to compute it. A block has none if
-- it was filled before this migration, if its text is too large, or if it has no plant.
CREATE TABLE block_digests (
  block  INTEGER PRIMARY KEY,
  digest BLOB    NOT NULL     -- 32 bytes
) STRICT;

-- Whether a process writes to the file, or stopped without closing it: one row. A file that is in use and has no WAL lacks what
-- the WAL had.
CREATE TABLE store_use (state TEXT NOT NULL CHECK (state IN ('closed', 'in use'))) STRICT;
INSERT INTO store_use VALUES ('closed');
