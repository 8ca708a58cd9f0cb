SELECT /*+ LOOKUP('table'='dim') */ DISTINCT o.id, d.name AS `Name`, -o.amount * (1 + o.tax / 100) gross
FROM cat.db.orders /*+ OPTIONS('scan.startup.mode' = 'latest') */ AS o
LEFT JOIN dim FOR SYSTEM_TIME AS OF o.proctime AS d ON o.k IS NOT DISTINCT FROM d.k
WHERE o.name SIMILAR TO '(a|b)%' AND o.x IS DISTINCT FROM o.y AND EXISTS (SELECT 1 FROM u WHERE u.id = o.id)
ORDER BY gross DESC NULLS LAST, 1 LIMIT 10 OFFSET 20;

WITH recent (id, n) AS (SELECT user, COUNT(*) FILTER (WHERE kind <> 'bot') FROM clicks GROUP BY user HAVING COUNT(*) > 1),
     top AS (VALUES (1, 'a'), (2, 'b'))
SELECT r.*, t.b FROM recent AS r FULL OUTER JOIN top AS t (a, b) ON r.id = t.a
INTERSECT (SELECT 1, 2, 3 EXCEPT SELECT 4, 5, 6)
UNION SELECT id, n, NULL FROM recent;

SELECT window_start, SUM(price) OVER w, ROW_NUMBER() OVER (PARTITION BY a, b ORDER BY c DESC ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)
FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(bidtime), INTERVAL '10' MINUTES)) AS t, LATERAL TABLE(split(t.words, ' ')) AS w(word)
CROSS JOIN UNNEST(t.tags) AS g (tag)
WINDOW w AS (ORDER BY ts RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW);

SELECT JSON_VALUE(j, '$.a' RETURNING INT DEFAULT 0 ON EMPTY NULL ON ERROR), JSON_OBJECT(KEY 'k' VALUE v ABSENT ON NULL),
       EXTRACT(YEAR FROM ts), FLOOR(ts TO DAY), TIMESTAMPDIFF(MINUTE, a, b), TRIM(LEADING '0' FROM code), POSITION('x' IN code),
       ROW(1, 'a').f, ARRAY[1, 2][1], MAP['a', 1]['a'], (r).x, CURRENT_TIMESTAMP, U&'\00fcber'
FROM t GROUP BY GROUPING SETS ((a, b), (a), ());
