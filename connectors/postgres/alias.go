package postgres

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/option"
)

// Keys of Flink CDC that only Translate reads.
const (
	startupMode     = "scan.startup.mode"
	decodingPlugin  = "decoding.plugin.name"
	debeziumPrefix  = "debezium."
	debeziumPub     = debeziumPrefix + "publication.name"
	debeziumAuto    = debeziumPrefix + "publication.autocreate.mode"
	debeziumDropped = debeziumPrefix + "slot.drop.on.stop"
)

// same maps keys to themselves.
func same(keys ...string) map[string]string {
	m := make(map[string]string, len(keys))
	for _, k := range keys {
		m[k] = k
	}
	return m
}

// drop adds keys that have no meaning here.
func drop(m map[string]string, keys ...string) map[string]string {
	for _, k := range keys {
		m[k] = ""
	}
	return m
}

// cdcAlias is Flink CDC's spelling.
func cdcAlias() connectors.Alias {
	keys := same(hostname.Key, port.Key, username.Key, password.Key, database.Key, schema.Key, table.Key, slotName.Key,
		connectTimeout.Key, startupMode, decodingPlugin, debeziumPub, debeziumAuto, debeziumDropped,
		replicaIdentity.Key, changelogMode.Key, heartbeat.Key, publicationName.Key, truncateMode.Key, unchangedToast.Key, sslMode.Key)
	keys["changelog-mode"] = changelogMode.Key
	keys["heartbeat.interval.ms"] = heartbeat.Key
	keys["scan.incremental.snapshot.chunk.size"] = partitionRows.Key
	return connectors.Alias{
		Name: "postgres-cdc",
		Keys: drop(keys, "scan.incremental.snapshot.enabled", "scan.snapshot.fetch.size", "connect.max-retries",
			"connection.pool.size", "chunk-meta.group.size", "chunk-key.even-distribution.factor.lower-bound",
			"chunk-key.even-distribution.factor.upper-bound", "scan.incremental.snapshot.chunk.key-column",
			"scan.incremental.close-idle-reader.enabled", "scan.incremental.snapshot.backfill.skip",
			"scan.incremental.snapshot.unbounded-chunk-first.enabled", "scan.newly-added-table.enabled",
			"scan.lsn-commit.checkpoints-num-delay", "scan.include-partitioned-tables.enabled"),
		Translate: translateCDC,
	}
}

// translateCDC gives Flink CDC's values the meaning they have there.
func translateCDC(in option.Set) (option.Set, []connectors.Problem) {
	var out option.Set
	var problems []connectors.Problem
	refuse := func(key, message, help string) {
		problems = append(problems, connectors.Problem{Option: key, Code: "bad-value", Message: message, Help: help})
	}
	for _, k := range in.Keys() {
		e, _ := in.Lookup(k)
		v := strings.ToLower(strings.TrimSpace(e.Text))
		switch k {
		case decodingPlugin:
			if v != "pgoutput" {
				refuse(k, fmt.Sprintf("decoding plugin %q is not supported", e.Text), "write 'pgoutput', which every server since 10 has")
			}
		case startupMode:
			modes := map[string]string{"initial": "cdc", "latest-offset": "stream", "committed-offset": "stream", "snapshot": "snapshot"}
			if modes[v] == "" {
				refuse(k, fmt.Sprintf("%q is not one of initial, latest-offset, committed-offset, snapshot", e.Text), "")
				continue
			}
			e.Text = modes[v]
			out = out.With(scanMode.Key, e)
		case debeziumPub:
			out = out.With(publicationName.Key, e)
		case debeziumAuto:
			if v != "filtered" && v != "disabled" {
				refuse(k, fmt.Sprintf("%q is not supported: a publication holds the tables of its pipeline", e.Text), "write 'filtered', or name a publication")
			}
		case debeziumDropped:
			if v != "false" {
				refuse(k, "dropping the slot on a stop would lose the changes made until the next start", "remove the option")
			}
		case table.Key:
			if strings.ContainsAny(e.Text, `*[]|()\^$+?`) && !strings.Contains(e.Text, `"`) {
				refuse(k, fmt.Sprintf("%q is a regular expression", e.Text), "declare one table for each; write a name that really holds such characters in double quotes")
				continue
			}
			out = out.With(k, e)
		default:
			out = out.With(k, e)
		}
	}
	// Flink CDC's default, all changes, fails there on a table whose replica identity is not FULL.
	if changelogMode.Get(out) == "all" && !out.Has(replicaIdentity.Key) && scanMode.Get(out) != "snapshot" {
		out = out.With(replicaIdentity.Key, option.Entry{Text: "full"})
	}
	return out, problems
}

// jdbcAlias is the spelling of Flink's JDBC connector.
func jdbcAlias() connectors.Alias {
	keys := same(address.Key, table.Key, username.Key, password.Key, writeMode.Key, deliveryGuarantee.Key, createDisposition.Key)
	keys["sink.buffer-flush.max-rows"] = sinkBatchRows.Key
	return connectors.Alias{
		Name: "jdbc",
		Keys: drop(keys, "driver", "connection.max-retry-timeout", "sink.buffer-flush.interval", "sink.max-retries", "sink.parallelism",
			"scan.fetch-size", "scan.auto-commit", "scan.partition.column", "scan.partition.num", "scan.partition.lower-bound",
			"scan.partition.upper-bound", "filter.handling.policy", "lookup.cache", "lookup.partial-cache.max-rows",
			"lookup.max-retries", "compatible-mode"),
		Defaults:  map[string]string{scanMode.Key: "snapshot"},
		Translate: translateJDBC,
	}
}

// translateJDBC turns a JDBC url into ours and its parameters into options.
func translateJDBC(in option.Set) (option.Set, []connectors.Problem) {
	out := in
	e, ok := in.Lookup(address.Key)
	if !ok {
		return out, []connectors.Problem{{Code: "missing-option", Message: "'jdbc' needs a 'url'", Help: "write 'url' = 'jdbc:postgresql://host:5432/database'"}}
	}
	problem := func(message, help string) (option.Set, []connectors.Problem) {
		return out, []connectors.Problem{{Option: address.Key, Code: "bad-value", Message: message, Help: help}}
	}
	text, isJDBC := strings.CutPrefix(e.Text, "jdbc:")
	switch {
	case isJDBC && !strings.HasPrefix(text, "postgresql:"):
		system, _, _ := strings.Cut(text, ":")
		return problem(fmt.Sprintf("a jdbc url for %q is not supported", system), "write jdbc:postgresql://host:5432/database")
	case option.HasReference(text):
		e.Text = text
		return out.With(address.Key, e), nil
	}
	if rest, ok := strings.CutPrefix(text, "postgresql:"); ok && !strings.HasPrefix(rest, "//") {
		text = "postgresql://localhost:5432/" + strings.TrimPrefix(rest, "/")
	}
	u, err := parseURL(text)
	if err != nil {
		return problem("the url is not of the form jdbc:postgresql://host:port/database", "")
	}
	q := u.Query()
	for param, key := range map[string]string{"user": username.Key, "password": password.Key, "currentSchema": schema.Key} {
		if v := q.Get(param); v != "" && !out.Has(key) {
			out = out.With(key, option.Entry{Text: v, KeyAt: e.KeyAt, ValueAt: e.ValueAt})
		}
	}
	kept := url.Values{}
	if v := q.Get("sslmode"); v != "" {
		kept.Set("sslmode", v)
	}
	u.RawQuery = kept.Encode()
	e.Text = u.String()
	return out.With(address.Key, e), nil
}
