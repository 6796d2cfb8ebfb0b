package secret

import (
	"strings"

	"vramsoak/parser/lex"
)

// IsDSN reports whether a text looks like the address of a database, even a misspelled one, or like
// any address with a password. Callers must pass such a text to [MaskDSN] before they use it as a
// file name or in a message.
//
//	postgres://user:password@host/db    PostgreSQL:/user:pass word@host
//	jdbc:mysql://host/db?password=x
//	host=h dbname=d password='x'        user:password@host:5432/db
func IsDSN(text string) bool {
	text = strings.TrimSpace(text)
	return database().MatchString(text) || account().MatchString(text) ||
		bareAccount().MatchString(text) || keywords(text)
}

const products = `postgres(?:ql)?|pgsql|psql|pg|cockroach(?:db)?|mysql|mariadb|mssql|sqlserver|` +
	`oracle|mongodb|rediss?|clickhouse|timescaledb`

var (
	// database matches the start of a database address. A misspelled address may have one slash, or
	// none.
	database = lex.Expression(`(?i)^(?:jdbc:)?(?:` + products + `)(?:\+[a-z0-9_]+)*(?::|;|//|\\\\)`)
	// account matches an address that holds a user and a password: scheme:/...:...@.
	account = lex.Expression(`(?s)^(?:[A-Za-z][A-Za-z0-9+.-]*:[/\\]+|[/\\]{2,})[^/@]*:.*@`)
	// bareAccount matches an address without a scheme: user:password@host/db, or
	// user:password@tcp(host)/db.
	bareAccount = lex.Expression(`(?s)^[^\s/.:@\\][^\s/:@\\]*:.+@` +
		`(?:[A-Za-z0-9.\[\]:_-]+|[a-z0-9+]*\([^()]*\))(?:/[^/@]*)?$`)
	// key matches the name of a setting and its "=": in libpq's form "host=h password=x", in a query,
	// or in an ADO connection string.
	key = lex.Expression(`(?i)(?:^|[\s;&?])(host|hostaddr|server|port|user|username|user ` +
		`id|uid|dbname|database|` + secretKey +
		`|sslmode|passfile|service|application_name|connect_timeout)\s*=`)
	secretKey = `password|passwd|pass|pwd|sslpassword`
	secretOf  = lex.Expression(`(?i)^(?:` + secretKey + `)$`)
)

// keywords reports whether a text is an address of settings, such as "host=h password=x": it has
// the name of a password, or two other names of settings.
func keywords(text string) bool {
	found := key().FindAllStringSubmatch(text, -1)
	for _, k := range found {
		if secretOf().MatchString(k[1]) {
			return true
		}
	}
	return len(found) >= 2
}

// MaskDSN returns the address with its password masked. A password with unescaped characters has no
// clear end, so everything up to the last "@" is masked.
func MaskDSN(text string) string {
	if at := strings.LastIndexByte(text, '@'); at >= 0 {
		begin := 0
		if loc := afterScheme().FindStringIndex(text); loc != nil {
			begin = loc[1]
		}
		if colon := strings.IndexByte(text[begin:max(begin, at)], ':'); colon >= 0 {
			text = text[:begin+colon+1] + mask + text[at:]
		} else if strings.ContainsAny(text[begin:max(begin, at)], "/?#") {
			text = text[:begin] + mask + text[at:]
		}
	}
	return maskKeys(text)
}

// afterScheme matches the part of an address before the user's name.
var afterScheme = lex.Expression(`(?i)^\s*(?:[/\\]{2,}|(?:jdbc:)?[a-z][a-z0-9+.-]*:?[/\\]+|` +
	`(?:jdbc:)?(?:` + products + `)(?:\+[a-z0-9_]+)*[:;])`)

// maskKeys returns the text with the values of password settings masked. A value ends where the
// name of the next setting begins.
func maskKeys(text string) string {
	found := key().FindAllStringSubmatchIndex(text, -1)
	var out strings.Builder
	from := 0
	for i, loc := range found {
		if !secretOf().MatchString(text[loc[2]:loc[3]]) {
			continue
		}
		end := len(text)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		out.WriteString(text[from:loc[1]])
		out.WriteString(mask)
		from = end
	}
	out.WriteString(text[from:])
	return out.String()
}

var (
	// inText matches the user and the password of an address in running text. The password ends at the
	// last "@" of the word.
	inText = lex.Expression(`((?:[A-Za-z][A-Za-z0-9+.-]*:[/\\]{1,3}|(?:^|[\s"])//))([^\s/@:]*):(\S*)@`)
	named  = lex.Expression(`(?i)\b(` + secretKey + `)(\s*=\s*)("[^"]*"|'(?:[^'\\]|\\.)*'|[^\s&;"']+)`)
)

// Credentials returns a message in which the passwords of addresses, and values after "password=",
// are masked.
func Credentials(message string) string {
	message = inText().ReplaceAllString(message, "${1}${2}:"+mask+"@")
	return named().ReplaceAllString(message, "${1}${2}"+mask)
}
