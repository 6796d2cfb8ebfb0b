package history

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPasswordsAreNotShown: for every spelling of an address, its password appears in no message
// and no file name.
func TestPasswordsAreNotShown(t *testing.T) {
	const p = "Tr0ub4dor"
	t.Chdir(t.TempDir())
	for _, name := range []string{
		"postgres://me:" + p + "@127.0.0.1:1/h?connect_timeout=1",
		"POSTGRES://me:" + p + "@127.0.0.1:1/h?connect_timeout=1",
		"postgres://127.0.0.1:1/h?user=me&password=" + p + "&connect_timeout=1",
		"postgres://127.0.0.1:1/h?user=me&password=" + p + "&sslmode=" + p,
		"host=127.0.0.1 port=1 user=me password=" + p + " dbname=h connect_timeout=1",
		"host=127.0.0.1 port=1 user=me PASSWORD='" + p + "' dbname=h",
		"host=127.0.0.1 port=x password=" + p,
		"host=127.0.0.1 port=1 password=a " + p + " connect_timeout=1",
		"postgres://me:a@" + p + "@127.0.0.1:1/h",
		"postgres://me:a/" + p + "@127.0.0.1:1/h",
		"postgres://me:a?" + p + "@127.0.0.1:1/h",
		"postgres://me:a#" + p + "@127.0.0.1:1/h",
		"postgres://me:a%zz" + p + "@127.0.0.1:1/h",
		"postgres://me:a:" + p + "@127.0.0.1:1/h",
		"postgres://me:a " + p + "@127.0.0.1:1/h",
		"postgres://me/" + p + "@127.0.0.1:1/h",
		"postgres:/me:" + p + "@127.0.0.1/h",
		"postgres:me:" + p + "@127.0.0.1/h",
		"me:" + p + "@127.0.0.1/h",
		"mysql://me:" + p + "@127.0.0.1/h",
		"postgress://me:" + p + "@127.0.0.1/h",
		"jdbc:postgresql://127.0.0.1/h?user=me&password=" + p,
		"Server=127.0.0.1;Database=h;User Id=me;Password=" + p,
		"password=" + p,
	} {
		for what, open := range map[string]func() (*Store, error){
			"open":   func() (*Store, error) { return Open(t.Context(), name) },
			"create": func() (*Store, error) { return Create(t.Context(), name) },
		} {
			_, err := open()
			if err == nil || strings.Contains(err.Error(), p) {
				t.Errorf("%s %q: %v", what, name, err)
			}
		}
	}
	if made, _ := filepath.Glob("*"); len(made) > 0 { // the pattern is good
		t.Errorf("files were made: %q", made)
	}
	if _, err := os.Stat("postgres:"); err == nil {
		t.Error("a folder was made")
	}
}

// TestDisplay: messages show a valid address without its password.
func TestDisplay(t *testing.T) {
	t.Setenv("PGPASSFILE", filepath.Join(t.TempDir(), "none"))
	for name, want := range map[string]string{
		"runs/history.db": "runs/history.db",
		"postgres://me:pw@db.example:5433/h?sslmode=disable": "postgres://me@db.example:5433/h",
		"PostgreSQL://me@db.example/h":                       "postgres://me@db.example/h",
		"host=db.example user=me dbname=h password='p w'":    "postgres://me@db.example/h",
		"postgres://me@/h?host=%2Ftmp":                       "postgres://me@/h?host=/tmp",
		"postgres://me:a@b@db.example/h":                     "address",
	} {
		if got := display(name); got != want {
			t.Errorf("%s is shown as %s, want %s", name, got, want)
		}
	}
}
