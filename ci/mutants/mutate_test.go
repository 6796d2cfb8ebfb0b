package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const code = `package p

func sum(v []int, most int) (n int) {
	for i := 0; i < len(v); i++ { // all
		if v[i] > most {
			continue
		}
		n += v[i]
	}
	return n
}
`

// TestMutate compares the mutants of a function with a list made by hand.
func TestMutate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.go")
	if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	mutants, err := mutate(file)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range mutants {
		before, after := strings.Split(code, "\n"), strings.Split(string(m.broken()), "\n")
		key := strings.TrimPrefix(m.key(), file+" | ")
		got = append(got, key+" | "+strings.TrimSpace(after[m.line-1]))
		before[m.line-1], after[m.line-1] = "", ""
		if !slices.Equal(before, after) {
			t.Errorf("%s changes another line", m)
		}
	}
	function := "func sum(v []int, most int) (n int) {"
	loop, branch := "for i := 0; i < len(v); i++ {", "if v[i] > most {"
	want := []string{
		"return at once | " + function + " | " + function + " if true { return *new(int) };",
		"< to <= | " + loop + " | for i := 0; i <= len(v); i++ { // all",
		"< to >= | " + loop + " | for i := 0; i >= len(v); i++ { // all",
		"if never | " + branch + " | if false && (v[i] > most) {",
		"if always | " + branch + " | if true || (v[i] > most) {",
		"> to >= | " + branch + " | if v[i] >= most {",
		"> to <= | " + branch + " | if v[i] <= most {",
		"removed | continue | ",
		"+= to -= | n += v[i] | n -= v[i]",
		"removed | n += v[i] | _ = v[i]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mutants (-want +got):\n%s", diff)
	}
}

// TestEquivalent checks that mutantsOf skips a listed mutant, and refuses an entry whose code is
// gone.
func TestEquivalent(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("p", 0o700); err != nil {
		t.Fatal(err)
	}
	write("p/p.go", code)
	write("known.txt", "# comment\np/p.go | > to >= | if v[i] > most { | a reason | with a bar\n")
	if _, _, err := mutantsOf("p", "", "known.txt"); err == nil {
		t.Error("a reason with a bar was taken as code")
	}
	write("known.txt", "p/p.go | > to >= | if v[i] > most { | reason\n"+
		"other/o.go | removed | x() | reason\n")
	kept, skipped, err := mutantsOf("p", "", "known.txt")
	if len(kept) != 9 || skipped != 1 || err != nil {
		t.Errorf("%d kept, %d skipped, %v; want 9 and 1", len(kept), skipped, err)
	}
	write("known.txt", "p/p.go | > to >= | if v[i] > least { | reason\n")
	_, _, err = mutantsOf("p", "", "known.txt")
	if err == nil || !strings.Contains(err.Error(), "no such mutant") {
		t.Errorf("%v, want: no such mutant", err)
	}
}
