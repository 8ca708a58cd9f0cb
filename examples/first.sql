-- Five changes of a made-up table, as they are.
CREATE TABLE orders (
  id BIGINT, item STRING, qty INT,
  PRIMARY KEY (id) NOT ENFORCED
) WITH (
  'connector' = 'datagen', 'seed' = '1', 'number-of-rows' = '5',
  'changelog.mode' = 'upsert', 'changelog.keys' = '3',
  'fields.item.length' = '4', 'fields.qty.min' = '1', 'fields.qty.max' = '9'
);

CREATE TABLE screen (id BIGINT, item STRING, size STRING) WITH ('connector' = 'print');

INSERT INTO screen
SELECT id, LOWER(item), CASE WHEN qty > 5 THEN 'large' ELSE 'small' END
FROM orders;
