-- Orders of the shop, kept equal in the warehouse.
SET 'pipeline.name' = 'orders';
SET execution.checkpointing.interval = 2s;

CREATE TABLE shop_orders (
  id          BIGINT NOT NULL,
  customer_id BIGINT,
  `status`    STRING COMMENT 'open, paid or sent',
  amount      DECIMAL(18, 2),
  items       ARRAY<ROW<sku STRING, quantity INT>>,
  attributes  MAP<STRING, STRING>,
  created     TIMESTAMP(6),
  total       AS amount * 1.19, -- computed
  lsn         BIGINT METADATA FROM 'lsn' VIRTUAL,
  WATERMARK FOR created AS created - INTERVAL '5' SECOND,
  PRIMARY KEY (id) NOT ENFORCED
) COMMENT 'orders; as the shop sees them' WITH (
  'connector' = 'postgres-cdc',
  'hostname' = 'db.example',
  'password' = '${env:SHOP_PASSWORD}', /* never here */
  'table-name' = 'orders'
);

CREATE TABLE warehouse_orders WITH ('connector' = 'jdbc', 'url' = 'jdbc:postgresql://wh.example/dw')
LIKE shop_orders (EXCLUDING OPTIONS INCLUDING CONSTRAINTS);

CREATE TEMPORARY VIEW paid AS
SELECT o.id, o.customer_id, UPPER(TRIM(o.`status`)) AS state, o.amount
FROM shop_orders AS o
WHERE o.`status` IN ('paid', 'sent') AND o.amount IS NOT NULL AND NOT (o.amount < 0 OR o.id % 2 = 1);

INSERT INTO warehouse_orders (id, customer_id, `status`, amount)
SELECT id, customer_id, CASE state WHEN 'PAID' THEN 'p' ELSE LOWER(state) || '!' END, CAST(amount AS DECIMAL(20, 4))
FROM paid WHERE customer_id BETWEEN 1 AND 1000 AND state LIKE 'P%' ESCAPE '\'
UNION ALL
SELECT id, COALESCE(customer_id, -1), items[1].sku, TRY_CAST(attributes['amount'] AS DECIMAL(20, 4)) FROM shop_orders;

EXECUTE STATEMENT SET BEGIN
  INSERT INTO a SELECT x, y FROM (SELECT 1 AS x, 'it''s' AS y) AS q;
  INSERT INTO b VALUES (1, DATE '2024-02-29', TIMESTAMP '2024-02-29 12:00:00', x'00ff', NULL, TRUE);
END;

EXPLAIN INSERT INTO warehouse_orders SELECT * FROM shop_orders;
SHOW CREATE TABLE shop_orders;
DESCRIBE paid;
DROP VIEW IF EXISTS paid;
