package sink

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestError(t *testing.T) {
	t.Parallel()
	_, missing := os.Open("no\nPASS: 60 files")
	quoted := errors.New("expected a line, found\nPASS: 60 files\n  x")
	for _, c := range []struct {
		err  error
		want string
	}{
		{missing, `open no\nPASS: 60 files: no such file or directory`},
		{
			fmt.Errorf("policy: %w", missing),
			`policy: open no\nPASS: 60 files: no such file or directory`,
		},
		{
			fmt.Errorf("arg\n1: expected a log, found arg\n1"),
			`arg\n1: expected a log, found arg\n1`,
		},
		{quoted, "expected a line, found\n  PASS: 60 files\n  x"},
		{
			errors.Join(errors.New("a.yaml:1: x"), errors.Join(errors.New("a.yaml:2: y"), quoted)),
			"a.yaml:1: x\na.yaml:2: y\nexpected a line, found\n  PASS: 60 files\n  x",
		},
		{fmt.Errorf("a.yaml: %w", errors.Join(errors.New("x"), errors.New("y"))), "a.yaml: x\n  y"},
		{fmt.Errorf("%w, then %w", errors.New("x"), errors.New("y")), "x, then y"},
	} {
		if diff := cmp.Diff(c.want, string(Error(c.err, "check", "arg\n1"))); diff != "" {
			t.Error(diff)
		}
	}
}

func TestFprintf(t *testing.T) {
	t.Parallel()
	type status string
	_, missing := os.Open("no\nlog")
	var out bytes.Buffer
	n, err := Fprintf(&out, "%s|%v|%-6s|%q|%d|%s|%s|%v\n", "a\nb", status("\x1b[31m"), "c\t", "d\n",
		5, missing, Block("x\ny\r\n\x1b"), nil)
	if err != nil || n != out.Len() {
		t.Fatal(n, err)
	}
	want := `a\nb|\x1b[31m|c\t   |"d\n"|5|open no\nlog: no such file or directory|x` + "\n  y\n  " +
		`\x1b|<nil>` + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
