package catalog

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/syncsql/syncsql/ddl"
	"github.com/syncsql/syncsql/option"
)

// The settings of a session. Names are Flink's where Flink has one.
var (
	PipelineName       = option.String("pipeline.name", "Name of the pipeline: its identity in the state store. Unset: the names of its sink tables.")
	CheckpointInterval = option.Duration("execution.checkpointing.interval", "Longest time between two checkpoints. Unset: 2 s, or 100 ms with a sink that stages rows.", option.Check(positiveDuration))
	CheckpointRows     = option.Int("execution.checkpointing.rows", "Rows after which a checkpoint is taken.", option.Default("10000"), option.Check(positive))
	Parallelism        = option.Int("scan.snapshot.parallelism", "Partitions of a first copy that are read at once.", option.Default("4"), option.Check(positive))
	BatchRows          = option.Int("batch.rows", "Rows that close a micro-batch.", option.Default("1000"), option.Check(positive))
	BatchBytes         = option.Bytes("batch.bytes", "Bytes that close a micro-batch.", option.Default("4 mb"), option.Check(positiveBytes))
	BatchWait          = option.Duration("batch.wait", "Time that closes a micro-batch.", option.Default("100 ms"), option.Check(positiveDuration))
	RateRows           = option.Float("rate-limit.rows-per-second", "Rows a second that a pipeline reads at most. Unset: no limit.", option.Check(positiveFloat))
	RateBytes          = option.Bytes("rate-limit.bytes-per-second", "Bytes a second that a pipeline reads at most. Unset: no limit.", option.Check(positiveBytes))

	Restart             = option.Enum("restart-strategy.type", "What happens after an error that may pass: try again with growing or equal waits, or give up.", []string{"exponential-delay", "fixed-delay", "none", "off", "disable"}, option.Default("exponential-delay"))
	RestartInitialDelay = option.Duration("restart-strategy.exponential-delay.initial-backoff", "Wait before the first restart.", option.Default("1 s"))
	RestartMaxDelay     = option.Duration("restart-strategy.exponential-delay.max-backoff", "Longest wait before a restart.", option.Default("1 min"))
	RestartAttempts     = option.Int("restart-strategy.exponential-delay.attempts-before-reset-backoff", "Failures in a row before giving up. Unset: no limit.", option.Check(positive))
	FixedDelay          = option.Duration("restart-strategy.fixed-delay.delay", "Wait before each restart.", option.Default("1 s"))
	FixedAttempts       = option.Int("restart-strategy.fixed-delay.attempts", "Failures in a row before giving up.", option.Default("1"), option.Check(positive))

	OnRowError      = option.Enum("sink.on-row-error", "What becomes of a row that cannot be mapped or that the sink refuses. A table's own option wins.", []string{"fail", "dead-letter", "skip"}, option.Default("fail"))
	DeadLetterTable = option.String("sink.dead-letter-table", "The declared table that takes refused rows. A table's own option wins.")

	TimeZone        = option.String("table.local-time-zone", "Zone of TIMESTAMP_LTZ in text and of the current date and time.", option.Default("UTC"), option.Check(zone))
	NotNullEnforcer = option.Enum("table.exec.sink.not-null-enforcer", "What becomes of NULL in a NOT NULL column. 'error' makes it a row error.", []string{"error"}, option.Default("error"))
	LengthEnforcer  = option.Enum("table.exec.sink.type-length-enforcer", "What becomes of text that is longer than its column: a row error, cut and padded, or passed on.", []string{"error", "trim-pad", "ignore"}, option.Default("error"))
)

// Settings are the declarations of all settings, in the order in which they are listed.
var Settings = []option.Decl{
	PipelineName.Decl, CheckpointInterval.Decl, CheckpointRows.Decl, Parallelism.Decl, BatchRows.Decl, BatchBytes.Decl,
	BatchWait.Decl, RateRows.Decl, RateBytes.Decl, Restart.Decl, RestartInitialDelay.Decl, RestartMaxDelay.Decl,
	RestartAttempts.Decl, FixedDelay.Decl, FixedAttempts.Decl, OnRowError.Decl, DeadLetterTable.Decl, TimeZone.Decl,
	NotNullEnforcer.Decl, LengthEnforcer.Decl,
}

// older are former names of settings that scripts for Flink still use.
var older = map[string]string{"restart-strategy": "restart-strategy.type"}

// flinkPrefixes begin settings of Flink that mean nothing here: they are kept and listed, and change nothing.
var flinkPrefixes = []string{
	"table.", "execution.", "sql-client.", "parallelism.", "state.", "pipeline.", "taskmanager.", "jobmanager.",
	"restart-strategy.", "metrics.", "rest.", "env.", "classloader.", "akka.", "pekko.", "yarn.", "kubernetes.", "cluster.",
	"high-availability.", "fs.", "s3.", "client.", "job.", "web.", "security.", "heartbeat.", "python.", "io.", "sql-gateway.",
	"streaming.", "task.", "blob.", "jobstore.", "slotmanager.", "queryable-state.", "checkpoint.",
}

func (c *Catalog) set(s *ddl.Set) (errs, warnings ddl.Errors) {
	if s.Key == "" {
		return nil, nil
	}
	key := s.Key
	if now, ok := older[key]; ok {
		key = now
	}
	d := option.Find(Settings, key)
	if d == nil {
		if e := foreign(s); e != nil {
			return ddl.Errors{e}, nil
		}
		c.settings = c.settings.With(key, option.Entry{Text: s.Value, KeyAt: s.KeyAt, ValueAt: s.ValueAt})
		return nil, ddl.Errors{ddl.Errorf(s.KeyAt, "ignored-setting", "%q is a setting of Flink that changes nothing here", key)}
	}
	if err := d.Validate(s.Value); err != nil {
		e := ddl.Errorf(s.ValueAt, "bad-setting", "setting %q: %s", key, err)
		switch near := ddl.Nearest(s.Value, d.Values); {
		case key == NotNullEnforcer.Key && strings.EqualFold(s.Value, "drop"):
			e.WithHelp("to drop such rows, write SET 'sink.on-row-error' = 'skip': they are counted")
		case near != "":
			e.WithHelp("did you mean %q?", near)
		default:
			e.WithHelp("%s", d.Doc)
		}
		return ddl.Errors{e}, nil
	}
	c.settings = c.settings.With(key, option.Entry{Text: s.Value, KeyAt: s.KeyAt, ValueAt: s.ValueAt})
	return nil, nil
}

// foreign is nil for a setting of Flink. A key that is a slip of the pen away from one of ours is never taken for one.
func foreign(s *ddl.Set) *ddl.Error {
	e := ddl.Errorf(s.KeyAt, "unknown-setting", "unknown setting %q", s.Key)
	var keys []string
	for i := range Settings {
		keys = append(keys, Settings[i].Key)
	}
	near := ddl.Nearest(s.Key, keys)
	isFlinks := slices.ContainsFunc(flinkPrefixes, func(p string) bool { return strings.HasPrefix(s.Key, p) })
	if near != "" && (!isFlinks || sameWord(lastPart(s.Key), lastPart(near))) {
		return e.WithHelp("did you mean %q?", near)
	}
	if isFlinks {
		return nil
	}
	return e.WithHelp("SET without a key lists the settings")
}

func (c *Catalog) reset(s *ddl.Reset) ddl.Errors {
	if s.Key == "" {
		c.settings = option.Set{}
		return nil
	}
	key := s.Key
	if now, ok := older[key]; ok {
		key = now
	}
	if !c.settings.Has(key) && option.Find(Settings, key) == nil {
		if e := foreign(&ddl.Set{Key: s.Key, KeyAt: s.KeyAt}); e != nil {
			return ddl.Errors{e}
		}
	}
	c.settings = c.settings.Without(key)
	return nil
}

func lastPart(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }

func sameWord(a, b string) bool { return a == b || ddl.Nearest(a, []string{b}) != "" }

func positive(s string) error {
	if strings.HasPrefix(strings.TrimSpace(s), "-") || strings.Trim(s, " 0+") == "" {
		return fmt.Errorf("%q is not greater than 0", s)
	}
	return nil
}

func positiveFloat(s string) error {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "-") || strings.Trim(s, "0.+eE") == "" || strings.EqualFold(s, "nan") || strings.HasSuffix(strings.ToLower(s), "inf") {
		return fmt.Errorf("%q is not greater than 0", s)
	}
	return nil
}

func positiveBytes(s string) error {
	if n, err := option.ParseBytes(s); err == nil && n == 0 {
		return fmt.Errorf("%q is not greater than 0", s)
	}
	return nil
}

func positiveDuration(s string) error {
	if d, err := option.ParseDuration(s); err == nil && d <= 0 {
		return fmt.Errorf("%q is not greater than 0", s)
	}
	return nil
}

func zone(s string) error {
	if _, err := time.LoadLocation(s); err != nil || s == "" || s == "Local" {
		return fmt.Errorf("%q is not a time zone such as 'UTC' or 'Europe/Berlin'", s)
	}
	return nil
}
