CREATE TABLE orders (id BIGINT, status STRING, total DECIMAL(10, 2), qty INT, placed TIMESTAMP(3), note STRING,
  PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'cdc', 'hostname' = 'a', 'table-name' = 'orders', 'password' = 'hunter2');
CREATE TABLE lines (order_id BIGINT, line INT, sku STRING, PRIMARY KEY (order_id, line) NOT ENFORCED)
  WITH ('connector' = 'cdc', 'hostname' = 'a', 'table-name' = 'lines');
CREATE TABLE people (id BIGINT, email STRING, name STRING, PRIMARY KEY (id) NOT ENFORCED)
  WITH ('connector' = 'cdc', 'hostname' = 'b', 'table-name' = 'people');
CREATE TABLE people_full (id BIGINT, email STRING, name STRING, PRIMARY KEY (id) NOT ENFORCED)
  WITH ('connector' = 'cdc', 'hostname' = 'b', 'table-name' = 'people', 'identity' = 'full');
CREATE TABLE people_append (id BIGINT, email STRING, name STRING, PRIMARY KEY (id) NOT ENFORCED)
  WITH ('connector' = 'cdc', 'hostname' = 'b', 'table-name' = 'people', 'changelog.mode' = 'append');
CREATE TABLE clicks (id BIGINT, url STRING, at TIMESTAMP_LTZ(3)) WITH ('connector' = 'events');
CREATE TABLE ticks (id BIGINT, at TIMESTAMP_LTZ(3)) WITH ('connector' = 'lossy');

CREATE TABLE orders_copy (id BIGINT, status STRING, total DECIMAL(10, 2), qty INT, placed TIMESTAMP(3), note STRING,
  PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'store');
CREATE TABLE totals (id BIGINT, total DECIMAL(12, 2), PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'store');
CREATE TABLE people_copy (id BIGINT, email STRING, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'store');
CREATE TABLE by_email (email STRING, id BIGINT, name STRING, PRIMARY KEY (email) NOT ENFORCED) WITH ('connector' = 'store');
CREATE TABLE big (id BIGINT, email STRING, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'warehouse');
CREATE TABLE audit (id BIGINT, total DECIMAL(10, 2)) WITH ('connector' = 'store');
CREATE TABLE tasks (id BIGINT, body STRING) WITH ('connector' = 'queue');
CREATE TABLE history (id BIGINT, email STRING, name STRING) WITH ('connector' = 'journal');
CREATE TABLE latest (id BIGINT, email STRING, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'setter');
