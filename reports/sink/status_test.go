package sink

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestShow: new rows replace the old ones, and text appears above them. A name in a row cannot give
// the terminal a command.
func TestShow(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := newText(&out)
	step := func(want string, do func() error) {
		t.Helper()
		out.Reset()
		if err := do(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Error(diff)
		}
	}
	write := func(text string) func() error {
		return func() error { _, err := fmt.Fprint(w, text); return err }
	}
	show := func(rows ...string) func() error { return func() error { return w.Show(rows...) } }
	erased := func(rows int) string {
		return "\r\x1b[2K" + strings.Repeat("\x1b[A\x1b[2K", rows)
	}
	step("1/2\n\x1b[33mlevel\x1b[0m\n", show("1/2", "\x1b[33mlevel\x1b[0m"))
	step(erased(2)+"2/2\n", show("2/2"))
	step(erased(1)+"a warning\n2/2\n", write("a warning\n"))
	// The rows wait for the end of a line.
	step(erased(1)+"half ", write("half "))
	step("line\n2/2\n", write("line\n"))
	step(erased(1)+`:\x3aerror::\x1b[2J`+"\n", show("::error::\x1b[2J"))
	step(erased(1), show())
	step("text\n", write("text\n"))
}

// TestHeight: a terminal that has become narrower has wrapped the rows that do not fit.
func TestHeight(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ width, columns, want int }{
		{0, 45, 1}, {45, 45, 1}, {46, 45, 2}, {90, 45, 2}, {91, 45, 3}, {120, 45, 3}, {120, 0, 1},
	} {
		if got := height([]int{test.width}, test.columns); got != test.want {
			t.Errorf("%d columns in %d: %d lines, want %d", test.width, test.columns, got, test.want)
		}
	}
	if got := height([]int{120, 30, 46}, 45); got != 3+1+2 {
		t.Errorf("three rows: %d lines, want 6", got)
	}
}

// TestShowSimple: a terminal without escape sequences shows one row and overwrites it with blanks.
func TestShowSimple(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := newText(&out)
	w.status.simple = true
	for _, rows := range [][]string{{"1/2 日", "hidden"}, {"2/2"}, nil} {
		if err := w.Show(rows...); err != nil {
			t.Fatal(err)
		}
	}
	want := "1/2 日" + "\r      \r" + "2/2" + "\r   \r"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line    string
		columns int
		want    string
	}{
		{"0024.wav", 8, "0024.wav"},
		{"0024.wav", 7, "0024.w…"},
		{"日本語.wav", 10, "日本語.wav"}, // three letters of two columns each
		{"日本語.wav", 6, "日本…"},
		{"e\u0301te\u0301", 3, "e\u0301te\u0301"},
		{"x", 0, ""},
	} {
		if got := Cut(c.line, c.columns, false); got != c.want {
			t.Errorf("%q in %d columns: %q", c.line, c.columns, got)
		}
		if ascii := Cut(c.line, c.columns, true); strings.Contains(ascii, "…") {
			t.Errorf("%q", ascii)
		}
	}
}
