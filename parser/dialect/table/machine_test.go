package table

import (
	"os"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
	"time"

	"vramsoak/parser/strictyaml"
)

// allMatches returns the offsets of the groups of all matches that a finder finds in the text.
func allMatches(p *pattern, text string) (all [][]int) {
	var f finder
	for f.begin(p, []byte(text)); f.next(); {
		all = append(all, slices.Clone(f.slots))
	}
	return all
}

var patterns = []string{
	`VRAM (?P<used>\d+)`, `(?:Before|After) .*?(?P<used>\d+)MiB`, `(?P<file>\w+): (?P<total>[\d.]+)`, `a+b*c?d{2,3}`,
	`(?:(a)|(b)c){1,3}x`, `(?:a|ab)(?:c|bcd)(?:d*)`, `^\s*(x?)\b.*?(\d+)$`, `(?i)vRam (\d)`, `(?m)^a$`, `x*?y`, `(?:x|)y?z`,
	`(?:(?P<step>\w+): {1,2}\[.*?)?(?:time|eta) .*?(?:\tmem |\) mem )(?P<peak>\d[\d.]*)`, `\ba*`, `[^ab]\B(é|e)`, `(a?)(a??)b`,
}

// FuzzMachine: for each pattern that has a machine, the machine finds the same matches as package
// regexp.
func FuzzMachine(f *testing.F) {
	for _, p := range patterns {
		f.Add(p, "VRAM 3 VRAM 4 Before x 3MiB abcdd Train: [0/50] time 3\tmem 7345MB abbcxaab vram 5 xyz ab: 1.2")
		f.Add(p, "aa aab\nabcd  x 12")
	}
	for _, l := range builtIn(f) {
		f.Add(l.Pattern, l.Example+" "+l.Example[len(l.Example)/3:])
	}
	f.Fuzz(func(t *testing.T, text, line string) {
		re, err := syntax.Parse(text, syntax.Perl)
		if err != nil || re.MaxCap() >= groupsMax-1 {
			return
		}
		p, err := compile(text, true)
		if err != nil {
			return
		}
		line = strings.ReplaceAll(line, "\n", " ") // it has no line ends
		want := p.regexp().FindAllStringSubmatchIndex(line, -1)
		if !slices.Contains(re.CapNames(), groupBegun) {
			want = regexp.MustCompile(text).FindAllStringSubmatchIndex(line, -1)
		}
		if got := allMatches(p, line); !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%q in %q: got %v, want %v", text, line, got, want)
		}
	})
}

// builtIn returns the lines of the built-in programs.
func builtIn(tb testing.TB) (all []Line) {
	tb.Helper()
	src, err := os.ReadFile("../programs.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	r := strictyaml.New("programs.yaml")
	entries, _ := r.Entries(r.Document(src, "programs", ""), 0)
	for _, p := range Load(r, entries[0].Value, nil) {
		all = append(all, p.Lines...)
	}
	if len(all) == 0 || r.Err() != nil {
		tb.Fatalf("programs.yaml: %d lines, %v", len(all), r.Err())
	}
	return all
}

// TestMachineBuiltIn: each pattern of the built-in programs has a machine.
func TestMachineBuiltIn(t *testing.T) {
	for _, l := range builtIn(t) {
		if p, err := compile(l.Pattern, l.KeepTorn); err != nil || p.machine == nil {
			t.Errorf("no machine for %s: %v", l.Pattern, err)
		}
	}
}

// BenchmarkMachine matches the examples of the built-in programs with the machine, and prints how
// long it takes compared with regexp.
func BenchmarkMachine(b *testing.B) {
	for _, l := range builtIn(b) {
		p, err := compile(l.Pattern, l.KeepTorn)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(l.Example, func(b *testing.B) {
			var f finder
			text := []byte(l.Example)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				f.begin(p, text)
				for f.next() {
					continue
				}
			}
			machine := b.Elapsed()
			start, re := time.Now(), p.regexp()
			for range b.N {
				re.FindAllSubmatchIndex(text, -1)
			}
			b.ReportMetric(float64(machine)/float64(time.Since(start)), "machine/regexp")
		})
	}
}

// TestMachineSubset: package regexp matches the patterns, and the lines, that a machine cannot
// match.
func TestMachineSubset(t *testing.T) {
	for text, known := range map[string]bool{
		`a(?P<used>\d+) MiB`: true, `(?:ab)*c`: false, `é`: false, `[é-ü]x`: true, `(?:ab){2}`: true, ` *x`: true, `(?:abc(?:x|yz)){900}`: false,
	} {
		p, err := compile(text, false)
		if err != nil || (p.machine != nil) != known {
			t.Errorf("%s: got a machine %t, %v", text, p.machine != nil, err)
		}
	}
}

// TestTorn: a line matches a pattern with the group begun even if the text behind this group is
// missing.
func TestTorn(t *testing.T) {
	for _, c := range []struct {
		pattern string
		keep    bool
		want    string
	}{
		{`a(?P<begun>)bcd`, false, `a(?P<begun>)(?:bcd(?P<whole>))?`},
		{
			`a(?P<begun>)(?P<used>\d) x (?P<peak>\d) y`, true,
			`a(?P<begun>)(?:(?P<used>\d) (?:x (?P<peak>\d) (?:y(?P<whole>))?)?)?`,
		},
		{
			`a(?P<begun>): (?P<used>\d) *MB, (?P<peak>\d)GiB`, true,
			`a(?P<begun>)(?:: (?P<used>\d) *MB(?:, (?P<peak>\d)GiB(?P<whole>))?)?`,
		},
		{`abc`, true, `abc`},
	} {
		re, err := syntax.Parse(c.pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tornTree(re, c.keep)
		if err != nil {
			t.Fatalf("%s: %v", c.pattern, err)
		}
		if got := canonical(t, got.String()); got != canonical(t, c.want) {
			t.Errorf("%s: got %s, want %s", c.pattern, got, c.want)
		}
	}
	for _, text := range []string{`(?:a(?P<begun>)b)`, `ab(?P<begun>)`, `(x(?P<begun>)y)z`} {
		if _, err := compile(text, false); err == nil && text != `(?:a(?P<begun>)b)` {
			t.Errorf("%s is no mistake", text)
		}
	}
}

// canonical returns an expression in the notation of package syntax.
func canonical(t *testing.T, text string) string {
	t.Helper()
	re, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	return re.Simplify().String()
}
