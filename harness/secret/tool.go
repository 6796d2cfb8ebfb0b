package secret

import (
	"path"
	"slices"
	"strings"
)

// A tool is programs that take a secret behind a flag whose name does not tell.
type tool struct {
	programs []string
	flags    []string
	// joined flags may have the value right behind them: mysql -pSECRET. Behind some it must be there.
	joined, onlyJoined bool
	account            bool // the value is USER:SECRET
	runs               bool // another program follows, with flags of its own
}

// tools are those of pipelines, as their manuals have them.
var tools = []tool{
	{programs: []string{"curl"}, flags: []string{"-u", "-U", "--user", "--proxy-user"}, joined: true, account: true},
	{programs: []string{"http", "https"}, flags: []string{"-a", "--auth"}, joined: true, account: true},
	{
		programs: []string{"mysql", "mysqldump", "mysqladmin", "mysqlimport", "mariadb", "mariadb-dump", "mariadb-admin"},
		flags:    []string{"-p"}, joined: true, onlyJoined: true,
	},
	{programs: []string{"7z", "7za", "7zr", "rar", "unrar"}, flags: []string{"-p"}, joined: true, onlyJoined: true},
	{programs: []string{"sshpass"}, flags: []string{"-p"}, joined: true, runs: true},
	{programs: []string{"mongosh", "mongo", "mongodump", "mongorestore"}, flags: []string{"-p"}, joined: true},
	{programs: []string{"zip", "unzip", "sqlcmd", "bcp"}, flags: []string{"-P"}, joined: true},
	{programs: []string{"ssh-keygen"}, flags: []string{"-N", "-P"}},
	{programs: []string{"redis-cli"}, flags: []string{"-a"}},
	{programs: []string{"ldapsearch", "ldapadd", "ldapmodify", "ldapdelete", "ldapwhoami"}, flags: []string{"-w"}, joined: true},
}

// toolSecrets returns the arguments of well-known tools that have a secret, masked, by their index. A
// tool may follow others: env, timeout 5, sshpass ... ssh host curl.
func toolSecrets(argv []string) map[int]string {
	found := map[int]string{}
	var now *tool
	for i, arg := range argv {
		if at := slices.IndexFunc(tools, func(t tool) bool { return slices.Contains(t.programs, path.Base(arg)) }); at >= 0 {
			now = &tools[at]
			continue
		}
		if now == nil || marked(arg) {
			continue
		}
		if masked, ok := now.value(arg); ok && i > 0 && !now.onlyJoined && slices.Contains(now.flags, argv[i-1]) {
			found[i] = masked
			now = now.then()
			continue
		}
		if !strings.HasPrefix(arg, "-") {
			now = now.then()
			continue
		}
		for _, flag := range now.flags {
			value, joined := strings.CutPrefix(arg, flag)
			if !joined || !now.joined || value == "" || strings.HasPrefix(flag, "--") != strings.HasPrefix(value, "=") {
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

// then is the tool that later arguments belong to: nil where another program follows.
func (t *tool) then() *tool {
	if t.runs {
		return nil
	}
	return t
}

// value is a value masked; not ok where it has no secret.
func (t *tool) value(value string) (masked string, ok bool) {
	if !t.account {
		return Mask, value != ""
	}
	user, secret, ok := strings.Cut(value, ":")
	return user + ":" + Mask, ok && secret != ""
}

// toolText masks the secrets of tools in a script. Its words end at blanks.
func toolText(script string) string {
	words := strings.Fields(script)
	if len(words) < 2 {
		return script
	}
	bare := make([]string, len(words))
	for i, w := range words {
		bare[i] = strings.Trim(w, "\"'();&|`$")
	}
	found := toolSecrets(bare)
	if len(found) == 0 {
		return script
	}
	var out strings.Builder
	rest := script
	for i, w := range words {
		before, after, _ := strings.Cut(rest, w)
		out.WriteString(before)
		if masked, ok := found[i]; ok {
			w = strings.Replace(w, bare[i], masked, 1)
		}
		out.WriteString(w)
		rest = after
	}
	return out.String() + rest
}
