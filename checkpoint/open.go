package checkpoint

import (
	"context"
	"fmt"
	"strings"
)

// Open opens the store that a URL names: sqlite:PATH (created when missing), postgres://… (shared by several runners),
// memory: (empty, gone with the process).
func Open(ctx context.Context, url string) (Store, error) {
	scheme, rest, ok := strings.Cut(url, ":")
	switch {
	case ok && scheme == "memory" && rest == "":
		return NewMemory(), nil
	case ok && scheme == "sqlite" && rest != "":
		return OpenSQLite(ctx, rest)
	case ok && (scheme == "postgres" || scheme == "postgresql"):
		return OpenPostgres(ctx, url)
	}
	if strings.Contains(rest, "@") {
		url = scheme + ":…" // it may hold a password
	}
	return nil, fmt.Errorf("state store %q is none of memory:, sqlite:PATH, postgres://URL", url)
}
