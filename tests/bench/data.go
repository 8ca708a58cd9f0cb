package main

import (
	"fmt"
	"os/exec"
)

const tableDDL = `create table orders(id bigint primary key, customer_id bigint, status text, amount numeric(12,2), note text, created_at timestamptz, updated_at timestamptz)`

// marker is the id of the last row of each backlog, in a transaction of its own.
const marker = 999_999_999_999

// changesProc makes n single-row changes in transactions of tx rows: of every ten, five inserts, four updates and one
// delete, interleaved. The last tenth of the table is deleted in shuffled order, the rest is updated.
const changesProc = `
create procedure changes(n bigint, tx bigint, base bigint) language plpgsql as $$
declare i bigint; del bigint := least(n/10, base/2); ins bigint := 0; d bigint := 0; u bigint := 0;
begin
  for i in 1..n loop
    if i % 2 = 0 then
      ins := ins + 1;
      insert into orders values (base + ins, ins * 31 % 100000, 'new', (ins * 7 % 1000000) / 100.0,
        md5(ins::text) || md5(i::text) || md5((i + ins)::text) || 'abcd', timestamptz '2026-06-01' + ins * interval '0.777 s', timestamptz '2026-06-01');
    elsif i % 10 = 5 then
      d := d + 1;
      delete from orders where id = base - del + 1 + d * 7919 % del;
    else
      u := u + 1;
      update orders set status = (array['paid','packed','shipped','done'])[1 + u % 4], amount = (u * 13 % 1000000) / 100.0,
        updated_at = timestamptz '2026-07-01' + u * interval '0.333 s' where id = 1 + u * 15485863 % (base - del);
    end if;
    if i % tx = 0 then commit; end if;
  end loop;
  commit;
end $$`

// table makes the source database "base" and the targets "base" (the same rows) and "empty", unless they are there.
func (b *bench) table() error {
	if have, err := ask(b.dst, "postgres", "select count(*) from pg_database where datname in ('base','empty')"); err != nil || have == "2" {
		return err
	}
	fmt.Printf("making %d rows\n", b.rows)
	if err := sql(b.src, "postgres", "create database base"); err != nil {
		return err
	}
	err := sql(b.src, "base", tableDDL, fmt.Sprintf(`insert into orders
		select g, g * 7919 %% 100000, (array['new','paid','packed','shipped','done'])[1 + g %% 5], (g * 104729 %% 1000000) / 100.0,
		  md5(g::text) || md5((g + 1)::text) || md5((g + 2)::text) || 'abcd',
		  timestamptz '2026-01-01' + g * interval '1.234567 s', timestamptz '2026-01-01' + g * interval '1.3 s'
		from generate_series(1::bigint, %d) g`, b.rows),
		"vacuum (freeze, analyze) orders", "create publication pub for table orders", changesProc, "checkpoint")
	if err != nil {
		return err
	}
	if err := sql(b.dst, "postgres", "create database loading", "create database empty"); err != nil {
		return err
	}
	if err := sql(b.dst, "empty", tableDDL); err != nil {
		return err
	}
	if err := sql(b.dst, "loading", tableDDL); err != nil {
		return err
	}
	if err := b.pipe("base", "loading"); err != nil {
		return err
	}
	if err := sql(b.dst, "loading", "vacuum (freeze, analyze) orders", "checkpoint"); err != nil {
		return err
	}
	return sql(b.dst, "postgres", "alter database loading rename to base")
}

// pipe copies orders from a source database to a target database with psql | psql, in binary.
func (b *bench) pipe(from, to string) error {
	line := fmt.Sprintf(`%s -XqAt -d '%s' -c 'copy orders to stdout (format binary)' | %s -Xq -v ON_ERROR_STOP=1 -d '%s' -c 'copy orders from stdin (format binary)'`,
		b.src.Bin("psql"), b.src.URL(from), b.dst.Bin("psql"), b.dst.URL(to))
	out, err := exec.Command("bash", "-o", "pipefail", "-c", line).CombinedOutput()
	if err != nil {
		return fmt.Errorf("psql | psql: %w: %s", err, out)
	}
	return nil
}

// backlog makes the source database src_NAME behind the slot base_NAME, unless it is there. Every run reads from a copy of
// the slot, so that all see the same WAL.
func (b *bench) backlog(tx, changes int, name string) error {
	if have, err := ask(b.src, "postgres", "select count(*) from pg_database where datname='src_"+name+"'"); err != nil || have == "1" {
		return err
	}
	fmt.Printf("making a backlog of %d changes, %d a transaction\n", changes, tx)
	making := "making_" + name
	if err := sql(b.src, "postgres",
		fmt.Sprintf("select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name='base_%s'", name),
		"drop database if exists "+making, "create database "+making+" template base strategy file_copy"); err != nil {
		return err
	}
	err := sql(b.src, making, fmt.Sprintf("select pg_create_logical_replication_slot('base_%s','pgoutput')", name),
		"set synchronous_commit=off", fmt.Sprintf("call changes(%d,%d,%d)", changes, tx, b.rows))
	if err != nil {
		return err
	}
	if err := sql(b.src, making, fmt.Sprintf("insert into orders values (%d,0,'marker',0,'marker',now(),now())", marker), "checkpoint"); err != nil {
		return err
	}
	return sql(b.src, "postgres", fmt.Sprintf("alter database %s rename to src_%s", making, name))
}

// freshTarget makes the target database "run" from a template.
func (b *bench) freshTarget(template string) error {
	if err := b.dropTarget(); err != nil {
		return err
	}
	if err := sql(b.dst, "postgres", "create database run template "+template+" strategy file_copy", "checkpoint"); err != nil {
		return err
	}
	return exec.Command("sync").Run()
}

func (b *bench) dropTarget() error {
	have, err := ask(b.dst, "postgres", "select count(*) from pg_subscription s join pg_database d on d.oid = s.subdbid where d.datname='run'")
	if err != nil {
		return err
	}
	if have != "0" {
		if err := sql(b.dst, "run", "alter subscription sub disable", "alter subscription sub set (slot_name=none)", "drop subscription sub"); err != nil {
			return err
		}
	}
	return sql(b.dst, "postgres", "drop database if exists run with (force)")
}

// freshSlot copies the slot of a backlog.
func (b *bench) freshSlot(name string) error {
	if err := b.dropSlot("run_slot"); err != nil {
		return err
	}
	return sql(b.src, "src_"+name, fmt.Sprintf("select pg_copy_logical_replication_slot('base_%s','run_slot',false,'pgoutput')", name))
}

func (b *bench) dropSlot(slot string) error {
	_, err := until(b.src, "postgres", fmt.Sprintf(`select not exists(select pg_terminate_backend(active_pid) from pg_replication_slots where slot_name='%s' and active)`, slot), every, limit, func() error { return nil })
	if err != nil {
		return err
	}
	return sql(b.src, "postgres", fmt.Sprintf("select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name='%s'", slot))
}

// same compares the table of a source database with the target's.
func (b *bench) same(db string) (string, error) {
	const q = "select count(*) || ':' || coalesce(sum(hashtextextended(o::text, 0)), 0) from orders o"
	a, err := ask(b.src, db, q)
	if err != nil {
		return "", err
	}
	z, err := ask(b.dst, "run", q)
	if err != nil {
		return "", err
	}
	if a != z {
		return fmt.Sprintf("DIFFERS: source %s, target %s", a, z), nil
	}
	return "", nil
}
