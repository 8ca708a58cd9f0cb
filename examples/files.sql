-- Rows into Parquet files, and the files read again: an INSERT that ends by itself is waited for by the SELECT behind it.
-- syncsql run examples/files.sql --var DIR=.

CREATE TABLE events (
  id BIGINT,
  kind STRING,
  amount DECIMAL(10, 2),
  at TIMESTAMP(3)
) WITH (
  'connector' = 'datagen',
  'number-of-rows' = '1000',
  'rows-per-second' = '0',
  'fields.id.kind' = 'sequence',
  'fields.id.start' = '1',
  'fields.id.end' = '1000',
  'fields.kind.length' = '3',
  'fields.amount.min' = '0',
  'fields.amount.max' = '100'
);

CREATE TABLE archive (id BIGINT, kind STRING, amount DECIMAL(10, 2), at TIMESTAMP(3))
WITH ('connector' = 'filesystem', 'path' = '${DIR}/events', 'format' = 'parquet');

INSERT INTO archive SELECT id, UPPER(kind), amount, at FROM events WHERE amount > 1;

SELECT id, kind, amount FROM archive WHERE amount > 99 LIMIT 5;
