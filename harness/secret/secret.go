// Package secret finds passwords and tokens in command lines, database addresses and messages, and
// masks them before they are stored or shown.
//
// It recognizes a secret by the name beside it (--api-key=..., HF_TOKEN=...), by its place in an
// address (postgres://user:password@host/db), or by its form (ghp_..., hf_...). What it cannot
// recognize, a user names: vramsoak soak --secret NAME.
package secret

import (
	"slices"
	"strings"
	"unicode"
)

// Mask replaces a secret.
const Mask = "***"

// Names decides by its name whether a value is a secret. The zero value knows the usual names; the
// elements are further ones, compared without regard to case, "-" and "_".
type Names []string

// Secret reports whether a flag, variable or header of this name holds a secret: "--api-key",
// "HF_TOKEN", "dbPassword". A name that says where a secret lies (--token-file) holds none, nor does
// a token of text (--eos-token).
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
	case slices.Contains(places, last):
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

// shellFolder is the variable with a shell's current folder, and no secret.
const shellFolder = "PWD"

// further reports whether a name, bare, is one of those that the user gave.
func (n Names) further(plain string) bool {
	return slices.ContainsFunc(n, func(more string) bool { return bare(more) == plain })
}

// holds reports whether the value of this name is a secret. A digit after "pass" is none: it says
// which pass (ffmpeg -pass 2).
func (n Names) holds(name, value string) bool {
	if !n.Secret(name) {
		return false
	}
	words := split(strings.TrimLeft(name, "-"))
	return words[len(words)-1] != "pass" || !digit().MatchString(value) || n.further(bare(name))
}

var (
	version = expression(`^v?[0-9]+$`)
	// anywhere are words that make a name one of a secret.
	anywhere = []string{
		"passwords", "passcode", "pwd", "pw", "psk", "secret", "secrets", "authtoken", "accesstoken",
		"authorization", "credential", "credentials", "privatekey", "sshpass", "userpass", "dbpass",
	}
	// joined are words whose end makes them a secret's: PGPASSWORD, --newpassword, --myapikey.
	joined = expression(`(?:password|passwd|passphrase|apikey)$`)
	digit  = expression(`^[0-9]$`)
	// endings do so only at the end of a name.
	endings = []string{"auth", "bearer", "cookie", "pass", "jwt", "pat", "signature"}
	// places are ends of names of where a secret lies.
	places = []string{"file", "path", "dir", "folder", "name", "length", "store", "manager", "stdin",
		"env", "policy", "prompt"}
	// textTokens come before "token" in settings of language models.
	textTokens = []string{
		"eos", "bos", "pad", "unk", "sep", "cls", "mask", "max", "min", "num", "start", "end", "stop",
		"special",
		"per", "next", "first", "last", "image", "audio", "prefix", "suffix", "text", "forced", "new",
		"by", "each",
	}
	// keys come before "key" in names of secrets.
	keys = []string{
		"api", "access", "secret", "private", "auth", "account", "license", "encryption", "signing",
		"service",
		"subscription", "storage", "shared", "master", "app", "client", "ssh", "deploy", "session", "sas",
	}
)

// bare is a name as it is compared: "--API_key" and "apiKey" are the same.
func bare(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "", ".", "").Replace(name))
}

// split returns the words of a name in lower case: "hfToken_V2" has hf, token, v2.
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
