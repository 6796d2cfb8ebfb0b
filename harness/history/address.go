package history

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"vramsoak/harness/secret"
)

// IsPostgres reports whether the name of a history is the address of a database server and not the
// path of a file. A misspelled address counts as an address, because as the name of a file it would
// show the password. [Open] refuses such an address.
func IsPostgres(name string) bool { return secret.IsDSN(name) || strings.Contains(name, "://") }

// display returns a history's name without a password, for messages.
func display(name string) string {
	if !IsPostgres(name) {
		return name
	}
	config, err := parsePostgres(name)
	if err != nil {
		return "address" // in a malformed address the password may be anywhere
	}
	u := url.URL{Scheme: "postgres", Path: "/" + config.Database}
	if config.User != "" {
		u.User = url.User(config.User)
	}
	u.Host = config.Host
	if config.Port != 5432 {
		u.Host = net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))
	}
	if strings.HasPrefix(config.Host, "/") { // a folder that holds a socket
		u.Host, u.RawQuery = "", "host="+config.Host
	}
	return u.String()
}

// parsePostgres returns the settings in the address of a PostgreSQL database, which is a URL or has
// libpq's form "host=h dbname=d". Its errors never quote the address, because in a malformed
// address the password may be anywhere.
func parsePostgres(name string) (*pgx.ConnConfig, error) {
	name = strings.TrimSpace(name)
	const hidden = " (it is not shown: it may hold a password)"
	scheme, rest, isURL := strings.Cut(name, "://")
	if isURL && !strings.ContainsAny(scheme, " =") {
		switch scheme = strings.ToLower(scheme); {
		case scheme != "postgres" && scheme != "postgresql":
			return nil, errors.New("expected postgres://user@host/database, or the path of an SQLite " +
				"file, found an address of another kind" + hidden)
		case !escaped(rest):
			return nil, errors.New("expected an address whose user and password are percent-encoded (@ is " +
				"%40, / is %2F, : is %3A, # is %23, ? is %3F, % is %25), found one with such characters as " +
				"they are" + hidden + "; the password may be in ~/.pgpass instead")
		}
		name = scheme + "://" + rest
	} else if !strings.Contains(name, "=") || strings.Contains(name, ";") {
		return nil, errors.New("expected postgres://user@host/database, or the path of an SQLite file, " +
			"found a malformed address" + hidden)
	}
	config, err := pgx.ParseConfig(name)
	if err != nil {
		return nil, fmt.Errorf("expected postgres://user@host/database, found an address that cannot "+
			"be read%s%s", hidden, reason(name, err))
	}
	return config, nil
}

// escaped reports whether the part of a URL after its scheme can be read in only one way. It may
// contain one "@", which ends the user's name and password.
func escaped(rest string) bool {
	authority := rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority = rest[:i]
	}
	if strings.Contains(rest[len(authority):], "@") || strings.Count(authority, "@") > 1 ||
		strings.ContainsAny(rest, "# \t\n") {
		return false
	}
	account, _, has := strings.Cut(authority, "@")
	if has && strings.Count(account, ":") > 1 {
		return false
	}
	_, err := url.Parse("postgres://" + rest)
	return err == nil
}

// reason returns what pgx says about a malformed URL, or "" if that may contain a part of the
// password.
func reason(name string, err error) string {
	u, failed := url.Parse(name)
	inner := errors.Unwrap(err)
	if failed != nil || inner == nil || !strings.Contains(name, "://") {
		return ""
	}
	password, _ := u.User.Password()
	for _, held := range []string{password, u.Query().Get("password"), u.Query().Get("sslpassword")} {
		if held != "" && strings.Contains(inner.Error(), held) {
			return ""
		}
	}
	return ": " + inner.Error()
}
