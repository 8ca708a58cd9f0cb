-- A seeded stream of 100,000 inserts, updates and deletes becomes a SQLite table, exactly once.
-- syncsql run examples/demo.sql --var DIR=. --var RATE=0

CREATE TABLE changes (
  id BIGINT,
  customer STRING,
  amount DECIMAL(10, 2),
  cancelled BOOLEAN,
  PRIMARY KEY (id) NOT ENFORCED
) WITH (
  'connector' = 'datagen',
  'changelog.mode' = 'upsert',
  'changelog.keys' = '5000',
  'changelog.update-ratio' = '0.6',
  'changelog.delete-ratio' = '0.15',
  'seed' = '7',
  'number-of-rows' = '100000',
  'rows-per-second' = '${RATE}',
  'fields.customer.length' = '8',
  'fields.amount.min' = '1',
  'fields.amount.max' = '900'
);

-- An order that is cancelled later leaves the table again: the filter turns its update into a delete.
CREATE VIEW shipped AS
SELECT id,
       UPPER(customer) AS customer,
       amount,
       CASE WHEN amount < 300 THEN 'small' WHEN amount < 600 THEN 'medium' ELSE 'large' END AS size
FROM changes
WHERE NOT cancelled;

CREATE TABLE orders (
  id BIGINT,
  customer STRING,
  amount DECIMAL(10, 2),
  size STRING,
  PRIMARY KEY (id) NOT ENFORCED
) WITH (
  'connector' = 'sqlite',
  'path' = '${DIR}/demo.db',
  'table-name' = 'orders'
);

SET 'pipeline.name' = 'demo';
SET 'execution.checkpointing.interval' = '100 ms';

INSERT INTO orders SELECT * FROM shipped;
