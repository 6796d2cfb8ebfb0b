package secret

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"--api-key", "--apikey", "--apiKey", "OPENAI_API_KEY", "--token", "TOKEN", "HF_TOKEN",
		"--hf-token", "hfToken",
		"--auth-token", "--use-auth-token", "HF_TOKEN_2", "GITHUB_TOKEN_V3", "--password", "-password",
		"--db-password",
		"PGPASSWORD", "dbPassword", "--passwd", "--secret", "AWS_SECRET_ACCESS_KEY", "--client-secret",
		"--credentials",
		"--private-key", "Authorization", "--proxy-auth", "--session-cookie", "--access_key", "--pass",
		"X-Api-Key",
		"--pw", "-pw", "--pwd", "--db-pw", "dbPw", "MYSQL_PWD", "--passphrase", "--key-passphrase",
		"--passcode", "SSHPASS", "--psk",
		"--newpassword", "RABBITMQ_DEFAULT_PASS", "--oauth2-bearer", "--myapikey",
		"HUGGING_FACE_HUB_TOKEN", "WANDB_API_KEY",
	} {
		if !(Names{}).Secret(name) {
			t.Errorf("%s is not taken for a secret", name)
		}
	}
	for _, name := range []string{
		"", "-", "--", "--token-file", "--password-file", "--secret-name", "--max-token", "--max-tokens",
		"--eos-token", "--tokenizer",
		"--key", "--keyboard", "--author", "--authority", "--passes", "--model", "--compass", "KEY_COUNT",
		"--tokens-per-batch",
		"--out", "--monkey", "--bypass", "--secretary", "PWD", "OLDPWD", "--pwm", "--passin",
		"--passthrough", "--password-stdin",
		"--n-tokens", "--upward", "--power", "--spw8", "-p", "-u", "-P", "-a", "-k",
	} {
		if (Names{}).Secret(name) {
			t.Errorf("%s is taken for a secret", name)
		}
	}
	more := Names{"--Hf_Auth", "-k"}
	for name, want := range map[string]bool{
		"--hf-auth": true, "HF_AUTH": true, "-k": true,
		"--k2": false, "--model": false,
	} {
		if got := more.Secret(name); got != want {
			t.Errorf("%s: %v, with the names %q", name, got, more)
		}
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	const s = "Tr0ub4dor"
	for _, test := range []struct{ name, argv, want string }{
		{"a flag with =", "p|--api-key=" + s, "p|--api-key=***"},
		{"a flag and its argument", "p|--api-key|" + s + "|{list}", "p|--api-key|***|{list}"},
		{"a flag without one", "p|--use-auth-token|{list}", "p|--use-auth-token|{list}"},
		{"a flag before another", "p|--token|--files|a", "p|--token|--files|a"},
		{"the environment", "env|HF_TOKEN=" + s + "|python|t.py", "env|HF_TOKEN=***|python|t.py"},
		{"a value with =", "p|--password=a=b " + s, "p|--password=***"},
		{"a mark", "p|--token={}", "p|--token={}"},
		{"nothing", "p|--token=|--password=", "p|--token=|--password="},
		{
			"a script", "bash|-c|HF_TOKEN=" + s + " python t.py --api-key " + s + " --n 3",
			"bash|-c|HF_TOKEN=***",
		},
		{
			"a script that begins with another word", "bash|-c|exec env HF_TOKEN=" + s +
				" python t.py --api-key " + s + " --n 3",
			"bash|-c|exec env HF_TOKEN=*** python t.py --api-key *** --n 3",
		},
		{
			"a quoted value in a script", `bash|-c|exec env PASSWORD='a b ` + s + `' x`,
			"bash|-c|exec env PASSWORD=***",
		},
		{"a header", "curl|-H|Authorization: Bearer " + s + ".x-y", "curl|-H|Authorization: Bearer ***"},
		{"another header", "curl|-H|X-Api-Key: " + s, "curl|-H|X-Api-Key: ***"},
		{"JSON", `p|--config|{"api_key": "` + s + `", "n": 3}`, `p|--config|{"api_key": ***, "n": 3}`},
		{
			"a query", "p|https://db.example/v?n=1&token=" + s + "&m=2",
			"p|https://db.example/v?n=1&token=***&m=2",
		},
		{
			"the first of a query", "p|https://db.example/v?token=" + s + "&m=2",
			"p|https://db.example/v?token=***&m=2",
		},
		{
			"the only one of a query", "p|--url=https://db.example/v?api_key=" + s,
			"p|--url=https://db.example/v?api_key=***",
		},
		{
			"a query in a script", "bash|-c|curl 'https://db.example/?access_token=" + s + "' -o x",
			"bash|-c|curl 'https://db.example/?access_token=***' -o x",
		},
		{
			"a short token in a header", "curl|-H|Authorization: Bearer abc",
			"curl|-H|Authorization: Bearer ***",
		},
		{
			"a short token in a script", `bash|-c|curl -H "Authorization: Bearer abc" x`,
			`bash|-c|curl -H "Authorization: Bearer ***" x`,
		},
		{
			"an address", "p|--db|postgres://me:" + s + "@db.example/x",
			"p|--db|postgres://me:***@db.example/x",
		},
		{
			"an address in a flag", "p|--db=postgres://me:" + s + "@db.example/x",
			"p|--db=postgres://me:***@db.example/x",
		},
		{"a form", "p|hf_" + strings.Repeat("aB3", 10) + "|x", "p|***|x"},
		{
			"no secret", "python|t.py|--max-tokens=512|--eos-token|</s>|{list}",
			"python|t.py|--max-tokens=512|--eos-token|</s>|{list}",
		},
		{"pw", "plink|-pw|" + s + "|host", "plink|-pw|***|host"},
		{"pw with =", "p|--pw=" + s + "|--pwd|" + s, "p|--pw=***|--pwd|***"},
		{"a pass of ffmpeg", "ffmpeg|-pass|2|--pass=1|-pass|" + s, "ffmpeg|-pass|2|--pass=1|-pass|***"},
		{"a folder", "env|PWD=/data|p", "env|PWD=/data|p"},
		{
			"openssl", "openssl|enc|-passin|pass:" + s + "|-passout|env:PW|-pass|file:a",
			"openssl|enc|-passin|pass:***|-passout|env:PW|-pass|***",
		},
		{"curl", "curl|-s|-u|me:" + s + "|https://x/", "curl|-s|-u|me:***|https://x/"},
		{
			"curl, joined", "timeout|5|/usr/bin/curl|-ume:" + s + "|--proxy-user=me:" + s,
			"timeout|5|/usr/bin/curl|-ume:***|--proxy-user=me:***",
		},
		{"curl, which asks", "curl|-u|me|https://x/", "curl|-u|me|https://x/"},
		{"a user", "docker|run|-u|1000:1000|-p|80:80|x", "docker|run|-u|1000:1000|-p|80:80|x"},
		{"mysql", "mysql|-u|me|-p" + s + "|db", "mysql|-u|me|-p***|db"},
		{"mysql, which asks", "mysql|-p|db", "mysql|-p|db"},
		{"sshpass", "sshpass|-p|" + s + "|ssh|-p|22|host", "sshpass|-p|***|ssh|-p|22|host"},
		{"redis", "redis-cli|-a|" + s, "redis-cli|-a|***"},
		{
			"tools in a script", "bash|-c|cd x && curl -u 'me:" + s + "' https://x/; mysql -p" + s + " db",
			"bash|-c|cd x && curl -u 'me:***' https://x/; mysql -p*** db",
		},
		{
			"a folder before a command", "bash|-c|PWD=/data python a.py --token=" + s,
			"bash|-c|PWD=/data python a.py --token=***",
		},
		{
			"a blank in a tool's secret", "bash|-c|sshpass -p 'a " + s + "' ssh h; mysql -p\"a " + s +
				"\" db",
			"bash|-c|sshpass -p '***' ssh h; mysql -p***\" db",
		},
		{
			"a tool in a substitution", "bash|-c|X=$(curl -u me:" + s + " x)",
			"bash|-c|X=$(curl -u me:*** x)",
		},
		{
			"a tool in a quoted script", `bash|-c|ssh h "cd x; curl -u me:` + s + ` y"`,
			`bash|-c|ssh h "cd x; curl -u me:*** y"`,
		},
		{
			"an apostrophe", "bash|-c|echo it's; curl -u me:" + s + " x",
			"bash|-c|echo it's; curl -u me:*** x",
		},
		{
			"apostrophes", "bash|-c|echo it's; curl -u me:" + s + " x's",
			"bash|-c|echo it's; curl -u me:*** x's",
		},
		{"flags of curl together", "curl|-sSu|me:" + s + "|https://x/", "curl|-sSu|me:***|https://x/"},
		{"an ampersand", "bash|-c|curl -u me:a&" + s + " x 2>&1", "bash|-c|curl -u me:*** x 2>&1"},
		{
			"a header of another scheme", "curl|-H|Authorization: token " + s,
			"curl|-H|Authorization: token ***",
		},
		{
			"variables", "env|PGPASSWORD=" + s + "|AWS_SECRET_ACCESS_KEY=" + s + "|HF_TOKEN=" + s + "|p",
			"env|PGPASSWORD=***|AWS_SECRET_ACCESS_KEY=***|HF_TOKEN=***|p",
		},
		{
			"no secrets", "p|--tokenizer|x|--max-tokens|5|--passes|2|-p|8080|-u",
			"p|--tokenizer|x|--max-tokens|5|--passes|2|-p|8080|-u",
		},
		{"the program itself", "./token=x|a", "./token=x|a"},
	} {
		argv := strings.Split(test.argv, "|")
		got, found := (Names{}).Arguments(argv)
		if diff := cmp.Diff(strings.Split(test.want, "|"), got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", test.name, diff)
		}
		if found != !slices.Equal(got, argv) {
			t.Errorf("%s: found is %v", test.name, found)
		}
		if again, _ := (Names{}).Arguments(got); !slices.Equal(again, got) {
			t.Errorf("%s: masked again it is %q", test.name, again)
		}
	}
}

// TestDSN: however a database address is spelled, MaskDSN leaves no part of its password.
func TestDSN(t *testing.T) {
	t.Parallel()
	const p = "Tr0ub4dor"
	for _, dsn := range []string{
		"postgres://me:" + p + "@db.example/history",
		"postgres://me:" + p + "@" + p + "@db.example/history",
		"postgres://me:" + p + "/" + p + "@db.example:5432/history",
		"postgres://me:" + p + "?" + p + "#" + p + "@db.example/history",
		"postgres://me:" + p + " " + p + "@db.example/history",
		"postgres://me:" + p + "%zz" + p + "@db.example/history",
		"postgresql://me:" + p + "@db.example/history?sslmode=disable",
		"POSTGRES://me:" + p + "@db.example/history",
		"PostgreSQL://me:" + p + "@db.example/history",
		"  postgres://me:" + p + "@db.example/history",
		"postgres:/me:" + p + "@db.example/history",
		"postgres:me:" + p + "@db.example/history",
		"postgres//me:" + p + "@db.example/history",
		"postgress://me:" + p + "@db.example/history",
		"psql://me:" + p + "@db.example/history",
		"postgresql+psycopg2://me:" + p + "@db.example/history",
		"jdbc:postgresql://db.example/history?user=me&password=" + p,
		"mysql://me:" + p + "@db.example/history",
		"whatever://me:" + p + "@db.example/history",
		"postgres://db.example/history?user=me&password=" + p,
		"postgres://db.example/history?PASSWORD=" + p + "&user=me",
		"host=db.example user=me password=" + p + " dbname=history",
		"host=db.example user=me PASSWORD = '" + p + " " + p + "' dbname=history",
		"host=db.example password=" + p + " " + p,
		"password=" + p,
		"Server=db.example;Database=history;User Id=me;Password=" + p + ";",
		"me:" + p + "@db.example/history",
		"me:" + p + "@db.example:5432/history",
		"me:" + p + "/" + p + "@db.example/history",
		"mongodb+srv://me:" + p + "@db.example/history",
		"//me:" + p + "@db.example/history",
		"me:" + p + "@tcp(db.example:3306)/history?parseTime=true",
		"me:" + p + "@unix(/run/mysql.sock)/history",
		"me:" + p + "@(db.example)/history",
	} {
		if !IsDSN(dsn) {
			t.Errorf("%q is not taken for the address of a database", dsn)
		}
		if got := MaskDSN(dsn); strings.Contains(got, p) {
			t.Errorf("%q is shown as %q", dsn, got)
		}
		if got := MaskDSN(MaskDSN(dsn)); got != MaskDSN(dsn) {
			t.Errorf("%q masked twice is %q", dsn, got)
		}
	}
	for _, path := range []string{
		"", "-", "runs/history.db", "/var/lib/history.db", "C:\\runs\\history.db", "./me:x@y",
		"runs/2026-11-20T02:00:00Z", "s3://bucket/a.wav",
		"file:history.db", "host=a.db", "./postgres://me:x@y", "audio/12:30@stage.wav", "postgres.db",
		"postgres/history.db",
		"https://db.example/a.wav", "mysql-run.log", "//server/audio/a.wav", "audio/a (take 2).wav",
		"//server/12:30/a.wav",
	} {
		if IsDSN(path) {
			t.Errorf("%q is taken for the address of a database", path)
		}
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		`open "postgres://me:pw@db.example/h": no such file`: `open ` +
			`"postgres://me:***@db.example/h": no such file`,
		"a PostgreSQL:///me:p@w/x@db.example/h b": "a PostgreSQL:///me:***@db.example/h b",
		"failed: host=db.example password=pw user=me": "failed: host=db.example " +
			"password=*** user=me",
		"line 3: expected a password: found none (see docs: a@b)": "line 3: expected a password: found " +
			"none (see docs: a@b)",
		"s3://bucket/a:b is no file": "s3://bucket/a:b is no file",
	} {
		if got := Credentials(message); got != want {
			t.Errorf("%q is %q, want %q", message, got, want)
		}
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	digest, err := Digest([]string{"p", "--token", "pw"})
	if err != nil || strings.Contains(digest, "pw") {
		t.Fatal(digest, err)
	}
	for argv, want := range map[string]bool{
		"p|--token|pw": true, "p|--token|pv": false,
		"p|--tokenpw": false, "p|--token|pw|": false,
	} {
		if got, err := Matches(digest, strings.Split(argv, "|")); got != want || err != nil {
			t.Errorf("%q: %v, %v", argv, got, err)
		}
	}
	for _, bad := range []string{
		"", "sha256$1$00$00", "pbkdf2-sha256$x$00$00", "pbkdf2-sha256$1$0$00",
		"pbkdf2-sha256$1$00$0g", "pbkdf2-sha256$999999999$00$00",
	} {
		if ok, err := Matches(bad, nil); ok || err == nil {
			t.Errorf("%q: %v, %v", bad, ok, err)
		}
	}
}
