package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/syncsql/syncsql/option"
)

// sessionSettings hold on every connection, whatever the role or the database sets: the text of a value must not depend on
// the server's configuration, and a copy must not be cut off by a timeout that was meant for an application.
var sessionSettings = map[string]string{
	"client_encoding":                     "UTF8",
	"TimeZone":                            "UTC",
	"DateStyle":                           "ISO, MDY",
	"IntervalStyle":                       "postgres",
	"extra_float_digits":                  "3",
	"bytea_output":                        "hex",
	"lc_monetary":                         "C",
	"statement_timeout":                   "0",
	"lock_timeout":                        "0",
	"idle_in_transaction_session_timeout": "0",
}

// dial connects with the options of a table. The pipeline's name shows up as application_name. Secrets are revealed here
// and nowhere else, and no error holds a password.
func dial(ctx context.Context, s option.Set, pipeline string) (*pgconn.PgConn, error) {
	config, err := connConfig(s, pipeline)
	if err != nil {
		return nil, err
	}
	return connect(ctx, config)
}

func connect(ctx context.Context, config *pgconn.Config) (*pgconn.PgConn, error) {
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", net.JoinHostPort(config.Host, fmt.Sprint(config.Port)), scrub(err, config.Password))
	}
	return conn, nil
}

// connConfig is the configuration of one connection.
func connConfig(s option.Set, pipeline string) (*pgconn.Config, error) {
	u, secret, err := serverURL(s)
	if err != nil {
		return nil, err
	}
	q := u.Query()
	if s.Has(sslMode.Key) || q.Get("sslmode") == "" {
		q.Set("sslmode", sslMode.Get(s))
	}
	if s.Has(sslRoot.Key) {
		root, err := option.Reveal(sslRoot.Get(s))
		if err != nil {
			return nil, fmt.Errorf("option %q: %w", sslRoot.Key, err)
		}
		q.Set("sslrootcert", root)
	}
	u.RawQuery = q.Encode()
	config, err := pgconn.ParseConfig(u.String())
	if err != nil {
		return nil, fmt.Errorf("connection settings: %w", scrub(err, secret))
	}
	if s.Has(connectTimeout.Key) || config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout.Get(s)
	}
	for k, v := range sessionSettings {
		config.RuntimeParams[k] = v
	}
	config.RuntimeParams["application_name"] = appName(pipeline)
	return config, nil
}

// appName is how a session of a pipeline is seen in pg_stat_activity; the server keeps 63 bytes.
func appName(pipeline string) string {
	name := "syncsql"
	if pipeline != "" {
		name += " " + pipeline
	}
	return name[:min(len(name), 63)]
}

// serverURL is the server with its secrets revealed; secret is the password, to keep it out of errors.
func serverURL(s option.Set) (u *url.URL, secret string, err error) {
	reveal := func(key, text string) string {
		v, e := option.Reveal(text)
		if e != nil && err == nil {
			err = fmt.Errorf("option %q: %w", key, e)
		}
		return v
	}
	if s.Has(address.Key) {
		text := reveal(address.Key, address.Get(s))
		if err != nil {
			return nil, "", err
		}
		if u, err = parseURL(text); err != nil {
			return nil, "", fmt.Errorf("option %q: %w", address.Key, err)
		}
	} else {
		host := reveal(hostname.Key, hostname.Get(s))
		text := port.Default
		if e, ok := s.Lookup(port.Key); ok {
			text = reveal(port.Key, e.Text)
		}
		u = &url.URL{Scheme: "postgres", Host: net.JoinHostPort(host, text)}
		if strings.HasPrefix(host, "/") { // a directory with a Unix socket
			u.Host = ""
			u.RawQuery = url.Values{"host": {host}, "port": {text}}.Encode()
		}
	}
	user, pass := u.User.Username(), ""
	if p, ok := u.User.Password(); ok {
		pass = p
	}
	if s.Has(username.Key) {
		user = reveal(username.Key, username.Get(s))
	}
	if s.Has(password.Key) {
		pass = reveal(password.Key, password.Get(s))
	}
	if s.Has(database.Key) {
		u.Path = "/" + reveal(database.Key, database.Get(s))
	}
	if err != nil {
		return nil, "", err
	}
	switch {
	case pass != "":
		u.User = url.UserPassword(user, pass)
	case user != "":
		u.User = url.User(user)
	}
	return u, pass, nil
}

// parseURL takes a URL apart; its error never repeats the text, which may hold a password.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" && u.Query().Get("host") == "" {
		return nil, errors.New("not of the form postgres://user:password@host:port/database")
	}
	if u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, fmt.Errorf("scheme %q is not postgres", u.Scheme)
	}
	return u, nil
}

// scrub keeps a password out of an error's text.
func scrub(err error, secret string) error {
	if secret == "" || !strings.Contains(err.Error(), secret) && !strings.Contains(err.Error(), url.QueryEscape(secret)) {
		return err
	}
	text := strings.ReplaceAll(err.Error(), secret, "***")
	return errors.New(strings.ReplaceAll(text, url.QueryEscape(secret), "***"))
}

// endpoint names the server and database, without a secret. It opens nothing and reveals nothing: a reference stands for
// itself.
func endpoint(s option.Set) string {
	where := net.JoinHostPort(hostname.Get(s), cmp.Or(lookup(s, port.Key), port.Default)) + "/" + database.Get(s)
	user := username.Get(s)
	if s.Has(address.Key) {
		text := address.Get(s)
		if option.HasReference(text) {
			where = withoutPassword(text)
		} else if u, err := parseURL(text); err == nil {
			where = u.Host + u.Path + u.Query().Get("host")
			user = cmp.Or(user, u.User.Username())
		}
		if s.Has(database.Key) {
			where += "/" + database.Get(s)
		}
	}
	e := "postgres://" + user + "@" + where
	for _, key := range []string{slotName.Key, publicationName.Key} {
		if s.Has(key) {
			e += " " + key + "=" + lookup(s, key)
		}
	}
	return e
}

func lookup(s option.Set, key string) string { e, _ := s.Lookup(key); return e.Text }

// withoutPassword cuts the user information of a URL that cannot be parsed because it holds references.
func withoutPassword(text string) string {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return text
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		user, _, _ := strings.Cut(rest[:i], ":")
		rest = user + rest[i:]
	}
	return scheme + "://" + rest
}
