-- A block is what the tables before this one call a window: 1024 plants, block 0 being seq 1 to 1024. For each full one the
-- lowest and the highest created_at_ms in it, so that a time is found without reading every plant. The order of plants is
-- seq alone: clocks are set back, and copies bring their own times.
CREATE TABLE block_times (
  block  INTEGER PRIMARY KEY,
  min_ms INTEGER NOT NULL,
  max_ms INTEGER NOT NULL
) STRICT;
INSERT INTO block_times
SELECT window, min(created_at_ms), max(created_at_ms)
  FROM name_windows CROSS JOIN plants ON seq BETWEEN window * 1024 + 1 AND (window + 1) * 1024
 GROUP BY window;
