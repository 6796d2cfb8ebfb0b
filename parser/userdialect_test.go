package parser_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser"
	"vramsoak/parser/dialect"
	"vramsoak/parser/dialect/table"
	"vramsoak/parser/record"
)

// readIn renders the records of a log, read with the given dialects.
func readIn(t *testing.T, set *parser.Set, log string) string {
	t.Helper()
	var b strings.Builder
	for rec, err := range set.Read(strings.NewReader(log), "run.log") {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%d %s ", rec.At().Line, rec.Head().Dialect)
		switch r := rec.(type) {
		case record.Checkpoint:
			fmt.Fprintf(&b, "%q", r.Name)
			if r.Lane != (record.Lane{}) {
				fmt.Fprintf(&b, " device=%d rank=%d", r.Lane.Device, r.Lane.Rank)
			}
			if r.Sampled {
				b.WriteString(" sampled")
			}
			renderReading(&b, &r.Reading)
		case record.FileStart:
			fmt.Fprintf(&b, "file-start %q pipeline=%t", r.Path, r.Pipeline)
		case record.SyntaxError:
			fmt.Fprintf(&b, "expected %s, found %q", r.Expected, r.Found)
		default:
			fmt.Fprintf(&b, "%T", rec)
		}
		if at := rec.Head().FormatTime(); at != "" {
			b.WriteString(" @" + at)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestUserDialect(t *testing.T) {
	const mib, gib = 1 << 20, 1 << 30
	for _, c := range []struct {
		name    string
		dialect dialect.User
		log     string
		want    string
	}{
		{
			"a named place, its unit given by the dialect",
			dialect.User{
				Name: "mine",
				Lines: []table.Line{{
					Pattern: `VRAM (?P<checkpoint>after \w+): (?P<used>[\d.]+)/(?P<total>\d+)`,
					Unit:    "MiB",
				}},
			},
			"2026-11-20 02:00:03,123 - INFO - VRAM after load: 1234.5/24564\nVRAM usage\n",
			// 1234.5 MiB = 1294467072, half of 0.1 MiB = 52428.8; half of 1 MiB = 524288.
			fmt.Sprintf(`1 mine "after load" total=%d+-524288 used=%d+-52428 @2026-11-20T02:00:03.123`+"\n",
				24564*mib, 1294467072),
		},
		{
			"units in the text, in the group and behind it",
			dialect.User{
				Name:  "mine",
				Lines: []table.Line{{Pattern: `mem=(?P<allocated>\S+) of (?P<reserved>[\d.,]+)`, Unit: "MiB"}},
			},
			"mem=1.5GB of 2 GiB\nmem=512 of 1,024\nmem=4096KiB of 7,763,421,184 bytes\n",
			fmt.Sprintf("1 mine \"mine\" sampled allocated=%d+-53687091 reserved=%d+-536870912\n", 3*gib/2,
				2*gib) +
				fmt.Sprintf("2 mine \"mine\" sampled allocated=%d+-524288 reserved=%d+-524288\n", 512*mib,
					1024*mib) +
				fmt.Sprintf("3 mine \"mine\" sampled allocated=%d+-512 reserved=7763421184\n", 4*mib),
		},
		{
			"decimal units",
			dialect.User{
				Name: "mine",
				Lines: []table.Line{{
					Pattern: `mem=(?P<allocated>\S+) peak=(?P<peak>\S+)`, Unit: "GB",
					Decimal: true,
				}},
			},
			"mem=1.5 peak=2GiB\nmem=1500MB peak=3000kB\n",
			"1 mine \"mine\" sampled allocated=1500000000+-50000000 peak=2147483648+-536870912\n" +
				"2 mine \"mine\" sampled allocated=1500000000+-500000 peak=3000000+-500\n",
		},
		{
			"files, devices, ranks, times; several on a line",
			dialect.User{
				Name: "mine",
				Lines: []table.Line{{
					Pattern: `at (?P<time>\S+)(?: on (?P<file>\S+))?: gpu(?P<device>\d+) ` +
						`rank(?P<rank>\d+) (?P<peak_reserved>\d+)MiB`,
				}},
			},
			"at 1700000000.5 on a.wav: gpu1 rank2 3MiB; at 02:00:03: gpu0 rank0 4MiB\n",
			"1 mine file-start \"a.wav\" pipeline=true @2023-11-14T22:13:20.500Z\n" +
				"1 mine \"mine\" device=1 rank=2 sampled peak_reserved=3145728+-524288 @2023-11-14T22:13:20.500Z\n" +
				"1 mine \"mine\" sampled peak_reserved=4194304+-524288 @02:00:03.000\n",
		},
		{
			"a line that begins a file",
			dialect.User{Name: "mine", Lines: []table.Line{{Pattern: `^Processing (?P<file>.+)$`}}},
			"Processing my file.wav\nnot Processing b.wav\n",
			"1 mine file-start \"my file.wav\" pipeline=true\n",
		},
		{
			"numbers that cannot be read",
			dialect.User{
				Name: "mine",
				Lines: []table.Line{{
					Pattern: `mem=(?P<allocated>\S*) (?P<device>\S+) (?P<time>\S+) (?P<file>\s*)end`,
				}},
			},
			"mem=many 1 02:00:03 end\nmem=7 1 02:00:03 end\nmem=-7MB x y end\nmem=1MB 0 02:00:03 end\n" +
				"mem= 0 02:00:03 end\nmem=99999999999TB 0 02:00:03 end\n",
			`1 mine expected a size of 0 or more in the group allocated, found "many 1 02:00:03 end" @02:00:03.000
1 mine expected the name of a file, found "end" @02:00:03.000
2 mine expected a unit such as MiB in the group allocated, found "7 1 02:00:03 end" @02:00:03.000
2 mine expected the name of a file, found "end" @02:00:03.000
3 mine expected a size of 0 or more in the group allocated, found "-7MB x y end"
3 mine expected the number of a device, found "x y end"
3 mine expected a time such as 2026-11-20T02:00:03Z, found "y end"
3 mine expected the name of a file, found "end"
4 mine "mine" sampled allocated=1048576+-524288 @02:00:03.000
4 mine expected the name of a file, found "end" @02:00:03.000
5 mine expected a size of 0 or more in the group allocated, found " 0 02:00:03 end" @02:00:03.000
5 mine expected the name of a file, found "end" @02:00:03.000
6 mine expected a size below 4 EiB in the group allocated, found "99999999999TB 0 02:00:03 end" @02:00:03.000
6 mine expected the name of a file, found "end" @02:00:03.000
`,
		},
		{
			"a group that takes no part",
			dialect.User{
				Name:  "mine",
				Lines: []table.Line{{Pattern: `memory: (?:(?P<used>\d+)MiB|unknown)`}},
			},
			"memory: unknown\nmemory: 3MiB\n",
			"2 mine \"mine\" sampled used=3145728+-524288\n",
		},
		{
			"case ignored: each line is tried, other dialects are read all the same",
			dialect.User{Name: "mine", Lines: []table.Line{{Pattern: `(?i)vram (?P<used>\d+)MiB`}}},
			"VRAM 3MiB\r\nvram 4MiB\r[GPU Memory] A: Allocated: 1.00GB\n\x1b[32mVrAm\x1b[0m 5MiB\n",
			fmt.Sprintf("1 mine \"mine\" sampled used=%d+-524288\n2 mine \"mine\" sampled used=%d+-524288\n",
				3*mib, 4*mib) +
				"2 transcription \"A\" allocated=1073741824+-5368709\n" +
				fmt.Sprintf("3 mine \"mine\" sampled used=%d+-524288\n", 5*mib),
		},
		{
			"behind a record of another dialect",
			dialect.User{Name: "mine", Lines: []table.Line{{Pattern: `Allocated (?P<used>\d+)MiB`}}},
			"WARNING: GPU memory usage is elevated (72.3%). Allocated 3MiB\n",
			"1 transcription record.Warning\n1 mine \"mine\" sampled used=3145728+-524288\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if m := c.dialect.Mistakes(); len(m) > 0 {
				t.Fatal(m)
			}
			set, err := parser.NewSet("", c.dialect)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, readIn(t, set, c.log)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestLiterals: every line that matches a pattern contains one of the pattern's literals, the
// fixed texts that are searched for first.
func TestLiterals(t *testing.T) {
	for _, c := range []struct {
		pattern string
		want    []string
	}{
		{`VRAM (?P<used>\d+)`, []string{"VRAM "}},
		{`VRAM: (?P<used>\d+) of (?P<total>\d+) in use`, []string{" in use"}},
		{`^step \d+ (?P<checkpoint>memory) after: (?P<used>\d+)$`, []string{" memory after: "}},
		{`(?:Before|After) (?P<used>\d+)`, []string{"Before", "After"}},
		{`(Before|After) loading the model (?P<used>\d+)`, []string{" loading the model "}},
		{`(abc|defg)+ (?P<used>\d+)`, nil}, // "abc" has three bytes
		{`(?:memory: ){2}(?P<used>\d+)`, []string{"memory: memory: "}},
		{`(?:memory: )?(?P<used>\d+) MiB used`, []string{" MiB used"}},
		{`(?:memory: )*(?P<used>\d+)`, nil},
		{`(?i)memory: (?P<used>\d+)`, nil},
		{`(?i:vram) used now: (?P<used>\d+)`, []string{" used now: "}},
		{`(?i)1234: (?P<used>\d+)`, []string{"1234: "}},
		{`mem(?P<used>\d+)`, nil},
		{`[Mm]emory (?P<used>\d+)`, []string{"emory "}},
		{`Speicher für (?P<used>\d+)`, []string{"Speicher für "}},
		{`\bmemory\b (?P<used>\d+)`, []string{"memory "}},
		{strings.Repeat("x", 200) + `(?P<used>\d+)`, []string{strings.Repeat("x", 127)}},
		{`a{4}b.*?c(?P<used>\d+)`, []string{"aaaab"}},
	} {
		got := (&table.Line{Pattern: c.pattern}).Literals()
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.pattern, got, c.want)
		}
	}
}

func TestNewSet(t *testing.T) {
	mine := dialect.User{
		Name:  "mine",
		Lines: []table.Line{{Pattern: `VRAM (?P<used>\d+)`, Unit: "MiB"}},
	}
	const log = "VRAM 3\n[GPU Memory] A: Allocated: 1.00GB\n[pipeline] file-start path=a.wav\n"
	for _, c := range []struct{ force, want string }{
		{
			"",
			"1 mine \"mine\" sampled used=3145728+-524288\n" +
				"2 transcription \"A\" allocated=1073741824+-5368709\n" +
				"3 pipeline file-start \"a.wav\" pipeline=true\n",
		},
		{
			"mine",
			"1 mine \"mine\" sampled used=3145728+-524288\n3 pipeline file-start \"a.wav\" pipeline=true\n",
		},
		{
			"transcription",
			"2 transcription \"A\" allocated=1073741824+-5368709\n" +
				"3 pipeline file-start \"a.wav\" pipeline=true\n",
		},
		{"pipeline", "3 pipeline file-start \"a.wav\" pipeline=true\n"},
	} {
		set, err := parser.NewSet(c.force, mine)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, readIn(t, set, log)); diff != "" {
			t.Errorf("force %q (-want +got):\n%s", c.force, diff)
		}
	}
	unknown := `expected one of the dialects that "vramsoak dialects" lists, or of your own (mine), ` +
		`found "transcriptoin" (did you mean "transcription"?)`
	if _, err := parser.NewSet("transcriptoin", mine); err == nil || err.Error() != unknown {
		t.Errorf("got the error %v, want %s", err, unknown)
	}
	_, err := parser.NewSet("", mine, mine,
		dialect.User{
			Name:  "transcription",
			Lines: []table.Line{{Pattern: `(?P<used>\d*)(?P<usde>x)?`, Unit: "kB10"}},
		},
		dialect.User{Name: "A b", Lines: []table.Line{{Pattern: `(`}}},
		dialect.User{Name: "c", Lines: []table.Line{{Pattern: "VRAM \\d+\n"}}})
	want := `dialect "mine": name: expected one that no other dialect has
dialect "transcription": name: expected a name that no built-in dialect has ("vramsoak dialects" lists them)
dialect "transcription": unit: expected a unit of bytes, KiB, MiB, GiB or TiB (or kB, MB, GB, TB)
dialect "transcription": pattern: expected groups named allocated, reserved, total, free, peak, peak_reserved, active, inactive_split, used, holds, buffer, pinned, checkpoint, step, file, fallback, device, rank, time, begun, torn (not usde) (did you mean "used"?)
dialect "transcription": pattern: expected a pattern that does not match the empty string
dialect "A b": name: expected a name of lower-case letters, digits, '.', '_' and '-'
dialect "A b": pattern: expected a regular expression in Go's syntax, which has no lookaround (missing closing ): ()
dialect "c": pattern: expected a group that reads memory, such as (?P<allocated>[\d.]+), a (?P<file>...) or a (?P<fallback>...)
dialect "c": pattern: expected a pattern of one line (in YAML one behind | ends with a line break: put it in quotes)`
	if err == nil {
		t.Fatal("got no error")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

// FuzzUserDialect: a reader that first searches for a pattern's literals finds the same records
// as a reader that tries the pattern on each line. It finds no record twice.
func FuzzUserDialect(f *testing.F) {
	f.Add(`VRAM (?P<used>\d+)`, "VRAM 3 VRAM 4\nVRAM\n")
	f.Add(`(?:Before|After)+ .*(?P<used>\d+)MiB`, "Before x 3MiB After 4MiB\r\nAfter\n")
	f.Add(`(?P<file>\w+): (?P<total>[\d.]+)`, "a: 1\nb: 2.3\n")
	f.Fuzz(func(t *testing.T, pattern, log string) {
		d := dialect.User{Name: "mine", Lines: []table.Line{{Pattern: pattern, Unit: "MiB"}}}
		if len(d.Mistakes()) > 0 {
			return
		}
		set, err := parser.NewSet("mine", d)
		if err != nil {
			t.Fatal(err)
		}
		// The added alternative never matches. With it, the pattern has no literals.
		d.Lines[0].Pattern = "(?:" + pattern + ")|[^\\x00-\\x{10FFFF}]"
		slow, err := parser.NewSet("mine", d)
		if err != nil {
			return
		}
		if len(d.Literals()) > 0 {
			t.Fatalf("%q has literals %q", d.Lines[0].Pattern, d.Literals())
		}
		if bytes.Contains([]byte(log), []byte("vramsoak]")) ||
			bytes.Contains([]byte(log), []byte("[pipeline]")) {
			return
		}
		if diff := cmp.Diff(readIn(t, slow, log), readIn(t, set, log)); diff != "" {
			t.Fatalf("%q on %q: (-each line +by literal):\n%s", pattern, log, diff)
		}
	})
}
