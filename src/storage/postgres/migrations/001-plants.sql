-- The id alone is the key, so that it can also be what a distributed engine spreads the table by.
CREATE TABLE plants (
  id            BIGINT NOT NULL PRIMARY KEY, -- the client's own, any int64
  name          TEXT   NOT NULL,
  tag           TEXT,
  created_at_ms BIGINT NOT NULL,             -- milliseconds since 1970, UTC
  created_by    TEXT   NOT NULL              -- the name of the token that sent it
);
-- For the operator's side, which reads in the order of creation, with or without a tag.
CREATE INDEX plants_by_time ON plants (created_at_ms, id);
CREATE INDEX plants_by_tag ON plants (tag, created_at_ms, id);
