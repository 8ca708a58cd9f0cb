-- Rows out of nothing, printed as they come: nothing to install, nothing to set up.
-- syncsql run examples/generate.sql

CREATE TABLE readings (
  id BIGINT,
  sensor STRING,
  celsius DOUBLE,
  fahrenheit AS celsius * 1.8 + 32
) WITH (
  'connector' = 'datagen',
  'number-of-rows' = '10',
  'rows-per-second' = '5',
  'fields.id.kind' = 'sequence',
  'fields.id.start' = '1',
  'fields.id.end' = '10',
  'fields.sensor.length' = '4',
  'fields.celsius.min' = '-10',
  'fields.celsius.max' = '40'
);

SELECT id, sensor, ROUND(celsius, 1) AS celsius, ROUND(fahrenheit, 1) AS fahrenheit FROM readings;
