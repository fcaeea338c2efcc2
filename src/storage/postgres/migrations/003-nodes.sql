-- One row for each running node, which it writes to find out whether plants can be stored.
CREATE TABLE plant_store_nodes (
  node       TEXT   NOT NULL PRIMARY KEY, -- a name that the process made up when it started
  seen_at_ms BIGINT NOT NULL
);
