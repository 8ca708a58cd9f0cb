-- One source, three sinks, one pipeline: each change is read once, and every sink gets its own shape of it.
-- syncsql run examples/fanout.sql --var DIR=. --until caught-up

CREATE TABLE customers (
  id BIGINT,
  name STRING,
  balance DECIMAL(12, 2),
  PRIMARY KEY (id) NOT ENFORCED
) WITH (
  'connector' = 'datagen',
  'changelog.mode' = 'all',
  'number-of-rows' = '20000',
  'rows-per-second' = '0',
  'fields.name.length' = '10',
  'fields.balance.min' = '-500',
  'fields.balance.max' = '5000'
);

CREATE TABLE current_state (id BIGINT, name STRING, balance DECIMAL(12, 2), PRIMARY KEY (id) NOT ENFORCED)
WITH ('connector' = 'sqlite', 'path' = '${DIR}/customers.db');

CREATE TABLE overdrawn (id BIGINT, balance DECIMAL(12, 2), PRIMARY KEY (id) NOT ENFORCED)
WITH ('connector' = 'sqlite', 'path' = '${DIR}/customers.db');

CREATE TABLE counted (id BIGINT) WITH ('connector' = 'blackhole');

EXECUTE STATEMENT SET
BEGIN
INSERT INTO current_state SELECT id, UPPER(name), balance FROM customers;
INSERT INTO overdrawn SELECT id, balance FROM customers WHERE balance < 0;
INSERT INTO counted SELECT id FROM customers;
END;
