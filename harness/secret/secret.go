// Package secret finds passwords and tokens in command lines, database addresses and messages, and
// masks them before they are stored or shown.
//
// It recognizes a secret by its name (--api-key=..., HF_TOKEN=...), by its position in an address
// (postgres://user:password@host/db), or by its form (ghp_..., hf_...). Users name other secrets
// with vramsoak soak --secret NAME.
package secret

import (
	"slices"
	"strings"
	"unicode"

	"vramsoak/parser/lex"
)

// mask replaces a secret.
const mask = "***"

// Names decides by the name of a value whether the value is a secret. The usual names, such as
// "password", are built in; the elements of Names are additional names. Letter case, "-" and "_" do
// not matter.
type Names []string

// Secret reports whether the value of a flag, variable or header with this name is a secret:
// "--api-key", "HF_TOKEN", "dbPassword". The value is no secret if the name says where a secret is
// stored (--token-file) or means a token of text (--eos-token).
func (n Names) Secret(name string) bool {
	name = strings.TrimLeft(name, "-")
	plain := bare(name)
	if plain == "" {
		return false
	}
	if n.further(plain) {
		return true
	}
	if name == shellFolder {
		return false
	}
	words := split(name)
	for len(words) > 1 && version().MatchString(words[len(words)-1]) { // HF_TOKEN_2
		words = words[:len(words)-1]
	}
	last := words[len(words)-1]
	before := ""
	if len(words) > 1 {
		before = words[len(words)-2]
	}
	switch {
	case slices.Contains(locations, last):
		return false
	case last == "token":
		return !slices.Contains(textTokens, before)
	case last == "key":
		return slices.Contains(keys, before)
	}
	return slices.Contains(endings, last) || slices.ContainsFunc(words, func(w string) bool {
		return slices.Contains(anywhere, w) || joined().MatchString(w)
	})
}

// shellFolder is the variable that holds a shell's current folder. Its name looks like a short form
// of "password", but its value is no secret.
const shellFolder = "PWD"

// further reports whether the user gave this name as one of Names. The parameter plain is the name
// in the form that [bare] returns.
func (n Names) further(plain string) bool {
	return slices.ContainsFunc(n, func(more string) bool { return bare(more) == plain })
}

// holds reports whether a value with this name is a secret. A digit after "pass" is no secret: it
// is the number of a pass, as in ffmpeg -pass 2.
func (n Names) holds(name, value string) bool {
	if !n.Secret(name) {
		return false
	}
	words := split(strings.TrimLeft(name, "-"))
	return words[len(words)-1] != "pass" || !digit().MatchString(value) || n.further(bare(name))
}

var (
	version = lex.Expression(`^v?[0-9]+$`)
	// anywhere lists words that mark a name as that of a secret, at any position in the name.
	anywhere = []string{
		"passwords", "passcode", "pwd", "pw", "psk", "secret", "secrets", "authtoken", "accesstoken",
		"authorization", "credential", "credentials", "privatekey", "sshpass", "userpass", "dbpass",
	}
	// joined matches words that mark a name as that of a secret by their end: PGPASSWORD,
	// --newpassword, --myapikey.
	joined = lex.Expression(`(?:password|passwd|passphrase|apikey)$`)
	digit  = lex.Expression(`^[0-9]$`)
	// endings lists words that mark a name as that of a secret only as the last word of the name.
	endings = []string{"auth", "bearer", "cookie", "pass", "jwt", "pat", "signature"}
	// locations lists the last words of names whose value is no secret but says where a secret is
	// stored, such as --password-file.
	locations = []string{
		"file", "path", "dir", "folder", "name", "length", "store", "manager",
		"stdin", "env", "policy", "prompt",
	}
	// textTokens lists the words that come before "token" in the names of text tokens, such as
	// eos_token.
	textTokens = []string{
		"eos", "bos", "pad", "unk", "sep", "cls", "mask", "max", "min", "num", "start", "end", "stop",
		"special",
		"per", "next", "first", "last", "image", "audio", "prefix", "suffix", "text", "forced", "new",
		"by", "each",
	}
	// keys lists the words that come before "key" in the names of secrets, such as api_key.
	keys = []string{
		"api", "access", "secret", "private", "auth", "account", "license", "encryption", "signing",
		"service",
		"subscription", "storage", "shared", "master", "app", "client", "ssh", "deploy", "session", "sas",
	}
)

// bare returns a name in lower case without "-", "_" and ".", for comparisons: "--API_key" and
// "apiKey" become equal.
func bare(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "", ".", "").Replace(name))
}

// split returns the words of a name in lower case: for "hfToken_V2" it returns hf, token and v2.
func split(name string) []string {
	var words []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
			word = nil
		}
	}
	lower := false
	for _, r := range name {
		switch {
		case r == '-' || r == '_' || r == '.':
			end()
			lower = false
			continue
		case unicode.IsUpper(r) && lower:
			end()
		}
		lower = unicode.IsLower(r)
		word = append(word, r)
	}
	end()
	if len(words) == 0 {
		return []string{""}
	}
	return words
}
