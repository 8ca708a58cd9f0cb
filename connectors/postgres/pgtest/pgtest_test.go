package pgtest

import "testing"

func TestStart(t *testing.T) {
	s := Start(t)
	url := s.CreateDB(t)
	Exec(t, url, "create table t(a int, b text)", "insert into t values (1, null)")
	got := Rows(t, url, "select a, b, current_setting('wal_level') from t")
	if len(got) != 1 || got[0][0] != "1" || got[0][1] != "NULL" || got[0][2] != "logical" {
		t.Fatalf("got %v", got)
	}
}
