-- A plan that is refused before anything runs: a CSV file cannot take updates and deletes.
CREATE TABLE orders (
  id BIGINT, total DECIMAL(10, 2),
  PRIMARY KEY (id) NOT ENFORCED
) WITH ('connector' = 'postgres', 'url' = '${env:SOURCE_URL}', 'table-name' = 'orders');

CREATE TABLE audit (id BIGINT, total DECIMAL(10, 2))
WITH ('connector' = 'filesystem', 'path' = '/var/audit', 'format' = 'csv');

INSERT INTO audit SELECT id, total FROM orders;
