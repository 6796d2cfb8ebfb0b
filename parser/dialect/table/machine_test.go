package table

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"testing"
)

// allMatches are the groups of all matches that a finder finds.
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

// The machine finds what regexp finds, in each pattern of the subset that it knows.
func FuzzMachine(f *testing.F) {
	for _, p := range patterns {
		f.Add(p, "VRAM 3 VRAM 4 Before x 3MiB abcdd Train: [0/50] time 3\tmem 7345MB abbcxaab vram 5 xyz ab: 1.2")
		f.Add(p, "aa aab\nabcd  x 12")
	}
	f.Fuzz(func(t *testing.T, text, line string) {
		re, err := syntax.Parse(text, syntax.Perl)
		if err != nil || re.MaxCap() >= groupsMax {
			return
		}
		p, err := compile(text, false)
		if err != nil || slices.Contains(re.CapNames(), groupBegun) {
			return
		}
		want := regexp.MustCompile(text).FindAllStringSubmatchIndex(line, -1)
		if got := allMatches(p, line); !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%q in %q: got %v, want %v", text, line, got, want)
		}
	})
}

// Where the machine does not know a pattern, or a line, regexp is asked.
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

// What follows the group begun may be missing.
func TestTorn(t *testing.T) {
	for _, c := range []struct {
		pattern string
		keep    bool
		want    string
	}{
		{`a(?P<begun>)bcd`, false, `a(?P<begun>)(?:bcd(?P<whole>))?`},
		{`a(?P<begun>)(?P<used>\d) x (?P<peak>\d) y`, true, `a(?P<begun>)(?:(?P<used>[0-9]) x (?:(?P<peak>[0-9]) y(?P<whole>))?)?`},
		{`abc`, true, `abc`},
	} {
		re, err := syntax.Parse(c.pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tornTree(re, c.keep)
		want := regexp.MustCompile(c.want)
		if err != nil || regexp.MustCompile(got.String()).String() != regexp.MustCompile(want.String()).String() && mustParse(t, got.String()) != mustParse(t, c.want) {
			t.Errorf("%s: got %v, want %s (%v)", c.pattern, got, c.want, err)
		}
	}
	for _, text := range []string{`(?:a(?P<begun>)b)`, `ab(?P<begun>)`, `(x(?P<begun>)y)z`} {
		if _, err := compile(text, false); err == nil && text != `(?:a(?P<begun>)b)` {
			t.Errorf("%s is no mistake", text)
		}
	}
}

func mustParse(t *testing.T, text string) string {
	t.Helper()
	re, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	return re.Simplify().String()
}
