-- An entry of a B-tree has at most 2704 bytes, and a tag can be longer. 100 characters have at most 400.
CREATE INDEX CONCURRENTLY IF NOT EXISTS plants_by_tag_prefix ON plants (left(tag, 100), created_at_ms, id);
DROP INDEX CONCURRENTLY IF EXISTS plants_by_tag;
