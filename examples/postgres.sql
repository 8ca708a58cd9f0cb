-- Keeps the pgbench tables of one Postgres equal to those of another: a snapshot, then logical replication.
--
--   export SOURCE_URL=postgres://user@host/db TARGET_URL=postgres://user@host/db
--   pgbench -i -s 10 "$SOURCE_URL" && pgbench -i -I dtp "$TARGET_URL"
--   syncsql run examples/postgres.sql
--
-- pgbench_history has no key. It still arrives exactly once: its rows and the position in the source are one transaction.

SET 'pipeline.name' = 'pgbench';

CREATE TABLE accounts (
  aid INT, bid INT, abalance INT, filler CHAR(84),
  PRIMARY KEY (aid) NOT ENFORCED
) WITH ('connector' = 'postgres', 'url' = '${env:SOURCE_URL}', 'table-name' = 'pgbench_accounts');

CREATE TABLE branches (
  bid INT, bbalance INT, filler CHAR(88),
  PRIMARY KEY (bid) NOT ENFORCED
) WITH ('connector' = 'postgres', 'url' = '${env:SOURCE_URL}', 'table-name' = 'pgbench_branches');

CREATE TABLE tellers (
  tid INT, bid INT, tbalance INT, filler CHAR(84),
  PRIMARY KEY (tid) NOT ENFORCED
) WITH ('connector' = 'postgres', 'url' = '${env:SOURCE_URL}', 'table-name' = 'pgbench_tellers');

CREATE TABLE history (
  tid INT, bid INT, aid INT, delta INT, mtime TIMESTAMP(6), filler CHAR(22)
) WITH (
  'connector' = 'postgres', 'url' = '${env:SOURCE_URL}', 'table-name' = 'pgbench_history',
  'replica-identity' = 'nothing'  -- rows are only ever inserted
);

CREATE TABLE accounts_copy (PRIMARY KEY (aid) NOT ENFORCED)
WITH ('url' = '${env:TARGET_URL}') LIKE accounts (EXCLUDING CONSTRAINTS OVERWRITING OPTIONS);

CREATE TABLE branches_copy (PRIMARY KEY (bid) NOT ENFORCED)
WITH ('url' = '${env:TARGET_URL}') LIKE branches (EXCLUDING CONSTRAINTS OVERWRITING OPTIONS);

CREATE TABLE tellers_copy (PRIMARY KEY (tid) NOT ENFORCED)
WITH ('url' = '${env:TARGET_URL}') LIKE tellers (EXCLUDING CONSTRAINTS OVERWRITING OPTIONS);

CREATE TABLE history_copy (
  tid INT, bid INT, aid INT, delta INT, mtime TIMESTAMP(6), filler CHAR(22)
) WITH ('connector' = 'postgres', 'url' = '${env:TARGET_URL}', 'table-name' = 'pgbench_history');

EXECUTE STATEMENT SET
BEGIN
  INSERT INTO accounts_copy SELECT * FROM accounts;
  INSERT INTO branches_copy SELECT * FROM branches;
  INSERT INTO tellers_copy SELECT * FROM tellers;
  INSERT INTO history_copy SELECT * FROM history;
END;
