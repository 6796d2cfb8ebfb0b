package sink

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"größe 日本 שלום 👩‍🔬.wav": "größe 日本 שלום 👩‍🔬.wav",
		"a\x00\x1b[31mb\x7f":    `a\x00\x1b[31mb\x7f`,
		"a\r\n\tb":              `a\r\n\tb`,
		"\u0085\u009b31m":       `\u0085\u009b31m`,
		"\x9b31m\xff\xc3":       `\x9b31m\xff\xc3`,
		"gpj\u202e.exe\u2066":   `gpj\u202e.exe\u2066`,
		"a\u2028b\u2029\ufeff":  `a\u2028b\u2029\ufeff`,
		"\U000e0041\ufffe":      `\U000e0041\ufffe`,
		"\ufffd":                "\ufffd",
	} {
		if got := Line(in); got != want {
			t.Errorf("Line(%+q) = %q, want %q", in, got, want)
		}
	}
}

// commandCases are lines that CI systems obey as commands, and similar lines that must not change.
var commandCases = map[string]string{
	"::error::x":               `:\x3aerror::x`,
	"a\n  \t::error file=a::x": "a\n  \t:\\x3aerror file=a::x",
	"\u00a0\u3000::warning::x": "\u00a0\u3000:\\x3awarning::x",
	// GitHub's runner skips ignorable runes, see ignorable
	"\u200d:\u200d:error::x":              "\u200d:\u200d\\x3aerror::x",
	"run 1 ::error::x":                    "run 1 ::error::x",
	"a: b::c\n: :x":                       "a: b::c\n: :x",
	"a ##[error]x ###[group]y":            `a ##\x5berror]x ###\x5bgroup]y`,
	"#\u2060#[error]":                     "#\u2060#\\x5berror]",
	"##vso[task.setvariable] ##TeamCity[": `##vso\x5btask.setvariable] ##TeamCity\x5b`,
	"## Verdict [1]\n#[x] ## [y]":         "## Verdict [1]\n#[x] ## [y]",
	"section_start:1:a\r\x1b[0Ktitle":     `section_start\x3a1:a\r\x1b[0Ktitle`,
	"x section_END:1:a":                   `x section_END\x3a1:a`,
	"section: start":                      "section: start",
	":\x1b:error::":                       `:\x1b:error::`,
}

func TestTerminalBreaksCommands(t *testing.T) {
	t.Parallel()
	for in, want := range commandCases {
		for how, read := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader,
		} {
			var out bytes.Buffer
			w := newText(&out)
			if _, err := io.Copy(struct{ io.Writer }{w}, read(strings.NewReader(in))); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if out.String() != want {
				t.Errorf("%s: %+q became %q, want %q", how, in, out.String(), want)
			}
		}
	}
}

// TestTerminalEndsInARune: if the text ends within a rune, Close escapes the rune's bytes.
func TestTerminalEndsInARune(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := newText(&out)
	for _, part := range []string{"gr\xc3", "\xb6\xc3\x9fe\xe2\x80"} {
		if n, err := io.WriteString(w, part); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), `größe\xe2\x80`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestStyles: vramsoak's colours pass unchanged in WriteStyled, and nowhere else.
func TestStyles(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := newText(&out)
	if err := WriteStyled(w, "\x1b[32mpass\x1b[0m \x1b[5mblink\x1b]0;title\x07\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, "\x1b[32mpass"); err != nil {
		t.Fatal(err)
	}
	want := "\x1b[32mpass\x1b[0m " + `\x1b[5mblink\x1b]0;title\x07` + "\n" + `\x1b[32mpass`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// texts returns strings that names may contain, for the formats that programs read.
func texts() []string {
	all := []string{
		"a\x00\x1b[31m\x7f\r\n\tb", "\u0085\u202e\u2028\ufeff\ufffe\U000e0041",
		"größe 日本 שלום",
	}
	for in := range commandCases {
		all = append(all, in)
	}
	return all
}

func TestJSONGivesBack(t *testing.T) {
	t.Parallel()
	for _, text := range texts() {
		var out bytes.Buffer
		if err := WriteJSON(&out, map[string]any{text: []string{text}}); err != nil {
			t.Fatal(err)
		}
		demandHarmless(t, out.Bytes())
		var back map[string][]string
		if err := json.Unmarshal(out.Bytes(), &back); err != nil {
			t.Errorf("%v: %s", err, out.Bytes())
		}
		if diff := cmp.Diff(map[string][]string{text: {text}}, back); diff != "" {
			t.Error(diff)
		}
	}
}

func TestXMLGivesBackLine(t *testing.T) {
	t.Parallel()
	type element struct {
		Name string `xml:"name,attr"`
		Body string `xml:",chardata"`
	}
	for _, text := range texts() {
		want := element{Line(text), "at\n" + Line(text)}
		made, err := xml.MarshalIndent(want, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if _, err := XML(&out).Write(made); err != nil {
			t.Fatal(err)
		}
		demandHarmless(t, out.Bytes())
		var back element
		if err := xml.Unmarshal(out.Bytes(), &back); err != nil {
			t.Errorf("%v: %s", err, out.Bytes())
		}
		if diff := cmp.Diff(want, back); diff != "" {
			t.Error(diff)
		}
	}
}

func TestCell(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"=1+1":                  "'=1+1",
		"+cmd|' /C calc'!A0":    "'+cmd|' /C calc'!A0",
		"-2+3":                  "'-2+3",
		"@SUM(1)":               "'@SUM(1)",
		" \u200b=1":             "' \u200b=1",
		"\t=1":                  `\t=1`,
		"\r\n=1":                `\r\n=1`,
		"＝1":                    "'＝1",
		"a;=1;b":                "a;'=1;b",
		`a;"=1"`:                `a;'"=1"`,
		"-5":                    "-5",
		"+1.5e3":                "+1.5e3",
		"-5 C":                  "'-5 C",
		"After Cleanup (a=b)":   "After Cleanup (a=b)",
		"audio/-1.wav":          "audio/-1.wav",
		"device=0 status=ok; x": "device=0 status=ok; x",
		"":                      "",
	} {
		if got := Cell(in); got != want {
			t.Errorf("Cell(%q) = %q, want %q", in, got, want)
		}
		var out bytes.Buffer
		w := csv.NewWriter(&out)
		if err := w.Write([]string{Cell(in), "x"}); err != nil {
			t.Fatal(err)
		}
		w.Flush()
		row, err := csv.NewReader(&out).Read()
		if err != nil || row[0] != want {
			t.Errorf("%q: read back as %q, %v", in, row, err)
		}
	}
}

func TestShell(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"runs/2026-11-20T02-00-00Z": "runs/2026-11-20T02-00-00Z",
		"":                          "''",
		"a b":                       "'a b'",
		"it's $(x)":                 `'it'\''s $(x)'`,
		"a\n'b\\\x1b\xff":           `$'a\n\'b\\\x1b\xff'`,
	} {
		if got := Shell(in); got != want {
			t.Errorf("Shell(%q) = %s, want %s", in, got, want)
		}
	}
}

// demandHarmless fails the test if a sink wrote a harmful text.
func demandHarmless(t *testing.T, text []byte) {
	t.Helper()
	if !utf8.Valid(text) {
		t.Errorf("the text is not UTF-8: %q", text)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") ||
			strings.Contains(line, "section_start:") {
			t.Errorf("the text has a command: %q", line)
		}
		for _, r := range strings.TrimSuffix(line, "\n") {
			if r != '\t' && harmful(r) {
				t.Errorf("the text has %+q in %q", r, line)
			}
		}
	}
}

// FuzzTerminal checks the output of a terminal's sink for every text, however the writes cut it. A
// second sink must not change the output again.
func FuzzTerminal(f *testing.F) {
	for _, text := range texts() {
		f.Add([]byte(text), 3)
	}
	f.Fuzz(func(t *testing.T, text []byte, at int) {
		write := func(parts ...[]byte) []byte {
			var out bytes.Buffer
			w := newText(&out)
			for _, part := range parts {
				if _, err := w.Write(part); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			return out.Bytes()
		}
		at = min(max(at, 0), len(text))
		whole := write(text)
		if cut := write(text[:at], text[at:]); !bytes.Equal(whole, cut) {
			t.Errorf("whole %q, cut at %d %q", whole, at, cut)
		}
		demandHarmless(t, whole)
		if again := write(whole); !bytes.Equal(whole, again) {
			t.Errorf("%q became %q", whole, again)
		}
	})
}

func BenchmarkTerminal(b *testing.B) {
	line := []byte("2026-11-20T02:00:03.123Z [GPU Memory] Before Whisper Cleanup: Allocated: " +
		"7.23GB (30.1%) | Reserved: 7.50GB (31.3%) | " +
		"Free: 16.77GB | Total: 24.00GB | allocated=7763421184 reserved=8053063680 " +
		"total=25769803776 device=0\n")
	text := bytes.Repeat(line, 300)
	w := newText(io.Discard)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		_, _ = w.Write(text)
	}
}

// TestWriteLongJSON: writing the lists of a document item by item gives the same JSON as writing it
// at once.
func TestWriteLongJSON(t *testing.T) {
	t.Parallel()
	type item struct {
		Text string   `json:"text"`
		More []string `json:"more"`
	}
	type doc struct {
		Name string            `json:"name"`
		A    []item            `json:"a"`
		In   struct{ B []int } `json:"in"`
		End  int               `json:"end"`
	}
	whole := doc{
		Name: `"a": [] <b>` + "\u202e", A: []item{{"x", nil}, {"\"\n\x1b", []string{"y"}}},
		End: 1,
	}
	for _, whole.In.B = range [][]int{{}, {1}, {1, 2}} {
		short := whole
		short.A, short.In.B = []item{}, []int{}
		var want, got strings.Builder
		if err := WriteJSON(&want, whole); err != nil {
			t.Fatal(err)
		}
		err := WriteLongJSON(&got, short, []List{{"a", each(whole.A)}, {"B", each(whole.In.B)}})
		if diff := cmp.Diff(want.String(), got.String()); diff != "" || err != nil {
			t.Errorf("%v (-at once +item by item)\n%s", err, diff)
		}
	}
	if err := WriteLongJSON(io.Discard, whole, []List{{"none", each(whole.A)}}); err == nil {
		t.Error("got no error for a list that the document does not have")
	}
	if err := WriteLongJSON(failing{}, whole, nil); err == nil {
		t.Error("got no error for a writer that fails")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func each[T any](list []T) iter.Seq[any] {
	return func(yield func(any) bool) {
		for _, item := range list {
			if !yield(item) {
				return
			}
		}
	}
}
