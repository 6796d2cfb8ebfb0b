package secret

import (
	"slices"
	"strings"

	"vramsoak/parser/lex"
)

// A tool is a group of programs that have a flag with a secret as its value, such as curl -u
// USER:SECRET. The name of the flag does not show that the value is a secret.
type tool struct {
	programs []string
	flags    []string
	// joined is true if the value may follow the flag without a blank (curl -uUSER:SECRET). onlyJoined
	// is true if it must do so (mysql -pSECRET).
	joined, onlyJoined bool
	account            bool // the value is USER:SECRET
	runs               bool // the tool runs another program, as sshpass does
}

// tools lists the tools that pipelines use, with the flags from their manuals.
var tools = []tool{
	{
		programs: []string{"curl"}, flags: []string{"-u", "-U", "--user", "--proxy-user"}, joined: true,
		account: true,
	},
	{
		programs: []string{"http", "https"}, flags: []string{"-a", "--auth"}, joined: true,
		account: true,
	},
	{
		programs: []string{
			"mysql", "mysqldump", "mysqladmin", "mysqlimport", "mariadb", "mariadb-dump",
			"mariadb-admin",
		},
		flags: []string{"-p"}, joined: true, onlyJoined: true,
	},
	{
		programs: []string{"7z", "7za", "7zr", "rar", "unrar"}, flags: []string{"-p"}, joined: true,
		onlyJoined: true,
	},
	{programs: []string{"sshpass"}, flags: []string{"-p"}, joined: true, runs: true},
	{
		programs: []string{"mongosh", "mongo", "mongodump", "mongorestore"}, flags: []string{"-p"},
		joined: true,
	},
	{programs: []string{"zip", "unzip", "sqlcmd", "bcp"}, flags: []string{"-P"}, joined: true},
	{programs: []string{"ssh-keygen"}, flags: []string{"-N", "-P"}},
	{programs: []string{"redis-cli"}, flags: []string{"-a"}},
	{
		programs: []string{"ldapsearch", "ldapadd", "ldapmodify", "ldapdelete", "ldapwhoami"},
		flags:    []string{"-w"}, joined: true,
	},
}

// toolSecrets returns the arguments of known tools that contain a secret, by their index in argv,
// with the secret masked. The command line may begin with other programs, as in "env curl",
// "timeout 5 curl" or "sshpass ... ssh host curl".
func toolSecrets(argv []string) map[int]string {
	found := map[int]string{}
	var now *tool
	for i, arg := range argv {
		if t := toolOf(arg); t != nil {
			now = t
			continue
		}
		if now == nil || marked(arg) {
			continue
		}
		if i > 0 && now.awaits(argv[i-1]) {
			if masked, ok := now.value(arg); ok {
				found[i] = masked
				now = now.then()
				continue
			}
		}
		if !strings.HasPrefix(arg, "-") {
			now = now.then()
			continue
		}
		for _, flag := range now.flags {
			value, is := strings.CutPrefix(arg, flag)
			if !is || !now.joined || value == "" || strings.HasPrefix(flag, "--") != strings.HasPrefix(value,
				"=") {
				continue
			}
			secret := strings.TrimPrefix(value, "=")
			if masked, ok := now.value(secret); ok {
				found[i] = strings.TrimSuffix(arg, secret) + masked
			}
		}
	}
	return found
}

// toolOf returns the tool that a word of a command line runs, or nil. The word may also be
// "/usr/bin/curl" or, in a script, "X=$(curl".
func toolOf(word string) *tool {
	program := word[strings.LastIndexAny(word, "/;&|(`")+1:]
	for i := range tools {
		if slices.Contains(tools[i].programs, program) {
			return &tools[i]
		}
	}
	return nil
}

// awaits reports whether the argument after flag is a secret value of the flag. Flags of one letter
// may be combined: curl -sSu USER:SECRET. In combined letters the flag may be another one, so
// awaits reports true for them only if the tool's secrets have the form USER:SECRET. That form
// shows that the argument is a secret.
func (t *tool) awaits(flag string) bool {
	if t.account && together().MatchString(flag) {
		flag = "-" + flag[len(flag)-1:]
	}
	return !t.onlyJoined && slices.Contains(t.flags, flag)
}

// then returns the tool to which the arguments after t's own belong: t, or nil if t runs another
// program.
func (t *tool) then() *tool {
	if t.runs {
		return nil
	}
	return t
}

// value returns a value with its secret masked. ok is false if the value has no secret.
func (t *tool) value(value string) (masked string, ok bool) {
	if !t.account {
		return mask, value != ""
	}
	user, secret, ok := strings.Cut(value, ":")
	return user + ":" + mask, ok && secret != ""
}

var (
	together = lex.Expression(`^-[A-Za-z#]{2,}$`)
	// scriptWord matches a word of a script. It ends at a blank outside quotes. A single quote may
	// also be part of a word: it's.
	scriptWord = lex.Expression(`(?s)(?:"(?:[^"\\]|\\.)*"|'[^']*'|\\.|[^\s"'\\]|["'\\])+`)
)

// toolText returns a script in which the secrets of known tools are masked.
func toolText(script string) string {
	words := scriptWord().FindAllStringIndex(script, -1)
	if len(words) < 2 {
		return script
	}
	bare := make([]string, len(words))
	for i, at := range words {
		bare[i] = strings.Trim(script[at[0]:at[1]], "\"'();&|`$")
	}
	found := toolSecrets(bare)
	var out strings.Builder
	end := 0
	for i, at := range words {
		word := script[at[0]:at[1]]
		out.WriteString(script[end:at[0]])
		end = at[1]
		switch quote := strings.IndexAny(word, `"'`); {
		case found[i] != "":
			word = strings.Replace(word, bare[i], found[i], 1)
		case quote >= 0 && strings.ContainsAny(word, " \t\n"): // a script in the script
			word = word[:quote+1] + toolText(word[quote+1:])
		}
		out.WriteString(word)
	}
	return out.String() + script[end:]
}
