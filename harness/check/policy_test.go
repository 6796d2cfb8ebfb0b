package check_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/harness/check"
	"vramsoak/harness/waiver"
	"vramsoak/parser"
	"vramsoak/parser/dialect"
	"vramsoak/parser/dialect/table"
)

// TestParsePolicy reads a policy file in which every key has a value of its own.
func TestParsePolicy(t *testing.T) {
	got, err := check.ParsePolicy([]byte(`
gate: [recovery, leak]
require: [recovery]
recovery: {min: 90%, floor: 2MiB}
peak:
  max: 0.9
leak:
  max_growth: 65536
  min_files: 20
  warm_up: 0
fragmentation: {max_growth: 2MiB, max_share: 20%}
regression: {min_effect: 2%, min_bytes: 16MiB, min_slowdown: 10%, false_alarms: 1%, exact: true}
expect:
  checkpoints:
    - After Transcription (post-cleanup)
waive:
  - {check: leak, subject: idle level, up_to: 2MiB, until: 2027-01-31, reason: torch 2.4 keeps it}
  - check: recovery
    until: "2026-12-31"
    reason: the cache of the model
  - {check: peak, up_to: 92.5%, until: 2027-02-01, reason: r}
  - {check: completeness, up_to: 3, until: 2027-02-02, reason: r}
dialects:
  - name: ours
    pattern: 'VRAM (?P<used>[\d.]+) of (?P<total>[\d.]+)'
    unit: MiB
  - {name: server, pattern: "mem=(?P<allocated>\\S+)", decimal: true}
`), "p.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := check.DefaultPolicy()
	want.Gate = []string{"recovery", "leak"}
	want.Require = []string{"recovery"}
	want.Recovery.Min, want.Recovery.Floor.Bytes = 0.9, 2<<20
	want.Peak.Max = 0.9
	want.MaxGrowth[check.IdleLevel], want.Leak.MinFiles, want.Leak.WarmUp = 64<<10, 20, 0
	want.MaxGrowth[check.UnusedReserve], want.Fragmentation.MaxShare = 2<<20, 0.2
	want.Regression = check.RegressionPolicy{
		MinEffect: 0.02, MinBytes: check.Amount{Bytes: 16 << 20}, MinSlowdown: 0.1, FalseAlarms: 0.01,
		Exact: true,
	}
	want.Expect.Checkpoints = []string{"After Transcription (post-cleanup)"}
	want.Waive = []check.WaivePolicy{
		{
			Waiver: waiver.Waiver{Reason: "torch 2.4 keeps it", Until: "2027-01-31"}, Check: "leak",
			Subject: "idle level", UpTo: new(2.0 * (1 << 20)), Unit: check.Bytes,
		},
		{
			Waiver: waiver.Waiver{Reason: "the cache of the model", Until: "2026-12-31"},
			Check:  "recovery",
		},
		{
			Waiver: waiver.Waiver{Reason: "r", Until: "2027-02-01"}, Check: "peak",
			UpTo: new(0.925), Unit: check.Ratio,
		},
		{
			Waiver: waiver.Waiver{Reason: "r", Until: "2027-02-02"}, Check: "completeness",
			UpTo: new(3.0), Unit: check.Count,
		},
	}
	want.Dialects = []dialect.User{
		{
			Name:  "ours",
			Lines: []table.Line{{Pattern: `VRAM (?P<used>[\d.]+) of (?P<total>[\d.]+)`, Unit: "MiB"}},
		},
		{Name: "server", Lines: []table.Line{{Pattern: `mem=(?P<allocated>\S+)`, Decimal: true}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
}

// TestParsePolicyEmpty: an empty file, or one with comments only, gives the default policy.
func TestParsePolicyEmpty(t *testing.T) {
	for _, src := range []string{"", "# nothing yet\n", "---\n"} {
		got, err := check.ParsePolicy([]byte(src), "p.yaml")
		if err != nil || !cmp.Equal(check.DefaultPolicy(), got) {
			t.Errorf("%q: got %+v, %v", src, got, err)
		}
	}
}

// TestParsePolicyErrors: the error of a policy file names every mistake with its line and column.
func TestParsePolicyErrors(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"several", `gate: [recovery, leaks]
recovery:
  min: 150%
  flor: 1MiB
peak: 3
leak: {min_files: few, max_growth: 1 parsec}
expect:
  checkpoints: After Whisper Cleanup
fragmentation:
  max_share: 0
  max_shrae: 20%
`, `p.yaml:1:18: expected one of recovery, leak, fragmentation, dark-memory, device-used, pinned-memory, host-memory, shared-memory, file-descriptors, threads, processes, device-recovery, drift, throughput, peak, out-of-memory, fallbacks, completeness, regression, consistency, clean-start (did you mean "leak"?), found "leaks"
p.yaml:3:8: expected a share such as 95% or 0.95, above 0 and up to 1, found "150%"
p.yaml:4:3: expected one of the keys floor, min (did you mean "floor"?), found "flor"
p.yaml:5:7: expected key: value, found "3"
p.yaml:6:19: expected a whole number of 8 or more, found "few"
p.yaml:6:36: expected an amount such as 512MiB, found "1 parsec"
p.yaml:8:16: expected a list, found "After Whisper Cleanup"; put it in [brackets]
p.yaml:10:14: expected a share such as 95% or 0.95, above 0 and up to 1, found "0"
p.yaml:11:3: expected one of the keys max_growth, max_share (did you mean "max_share"?), found "max_shrae"`},
		{
			"waivers", `waive:
  - {check: leek, up_to: 2MiB, until: 2027-01-31, reason: r}
  - {check: leak, up_to: 95%, until: 2027-02-29, reason: ""}
  - {check: recovery, up_to: 0.95, until: soon, reason: [r]}
  - {check: fragmentation, up_to: 2, until: 2027-01-31, reason: r}
  - {check: completeness, up_to: 2MiB, until: 2027-01-31, reason: r}
  - {check: dark-memory, up_to: -1MiB, until: 2027-01-31, reason: r}
  - check: drift
    untill: 2027-01-31
  - check: drift
    until: 2027-01-31
  - {}
  - leak
`, `p.yaml:2:13: expected one of recovery, leak, fragmentation, dark-memory, device-used, pinned-memory, host-memory, shared-memory, file-descriptors, threads, processes, device-recovery, drift, throughput, peak, out-of-memory, fallbacks, completeness, regression, consistency, clean-start (did you mean "leak"?), found "leek"
p.yaml:3:26: expected a size such as 2MiB, as leak measures it, found "95%"
p.yaml:3:38: expected the last day of the waiver, such as 2027-01-31, found "2027-02-29"
p.yaml:3:58: expected a reason, found ""
p.yaml:4:30: expected a share such as 90%, as recovery measures it, found "0.95"
p.yaml:4:43: expected the last day of the waiver, such as 2027-01-31, found "soon"
p.yaml:4:57: expected a reason, found "[r]"
p.yaml:5:35: expected a size such as 2MiB or a share such as 90%, as fragmentation measures it, found "2"
p.yaml:6:34: expected a number such as 3, as completeness measures it, found "2MiB"
p.yaml:7:33: expected a size such as 2MiB, as dark-memory measures it, found "-1MiB"
p.yaml:9:5: expected one of the keys check, reason, subject, until, up_to (did you mean "until"?), found "untill"
p.yaml:10:5: expected the key reason: a waiver needs check, reason and until, found "check: drift ..."
p.yaml:12:5: expected the key check: a waiver needs check, reason and until, found "{}"
p.yaml:13:5: expected key: value, found "leak"`,
		},
		{
			"dialects", `dialects:
  - name: transcription
    pattern: '(?P<used>\d*)'
  - name: one
    pattern: 'VRAM (?P<usde>\d+'
    unit: kB10
  - name: one
    pattern: |
      VRAM \d+
    decimal: yes
  - pattern: 'VRAM (?P<used>\d+)'
  - name: [two]
    colour: red
  - three
gate: [leak]
`,
			`p.yaml:2:11: expected a name that no built-in dialect has ("vramsoak dialects" lists them), found "transcription"
p.yaml:3:14: expected a pattern that does not match the empty string, found "(?P<used>\\d*)"
p.yaml:5:14: expected a regular expression in Go's syntax, which has no lookaround (missing closing ): VRAM (?P<usde>\d+), found "VRAM (?P<usde>\\d+"
p.yaml:6:11: expected a unit of bytes, KiB, MiB, GiB or TiB (or kB, MB, GB, TB), found "kB10"
p.yaml:7:11: expected a name that no other dialect has, found "one"
p.yaml:8:14: expected a group that reads memory, such as (?P<allocated>[\d.]+), a (?P<file>...) or a (?P<fallback>...), found "VRAM \\d+"
p.yaml:8:14: expected a pattern of one line (in YAML one behind | ends with a line break: put it in quotes), found "VRAM \\d+"
p.yaml:10:14: expected true or false, found "yes"
p.yaml:11:5: expected a name and a pattern, found "pattern: 'VRAM (?P<used>\\d+)'"
p.yaml:12:11: expected a text after name:, found "[two]"
p.yaml:13:5: expected one of the keys change, checkpoint, decimal, decimals, example, gives, keep_torn, launcher_rank, lines, name, pattern, rounding, source, step, unit, found "colour"
p.yaml:14:5: expected key: value, found "three"`,
		},
		{"not a mapping", "- recovery\n", `p.yaml:1:1: expected key: value, found "- recovery"`},
		{
			"not YAML", "gate: [recovery\n",
			`p.yaml:1:7: expected YAML, found "sequence end token ']' not found"`,
		},
		{
			"a key twice", "peak: {max: 85%}\npeak: {max: 90%}\n",
			`p.yaml:2:1: expected each key once, found "peak"; delete one of the two`,
		},
		{"two documents", "gate: [leak]\n---\ngate: [peak]\n", `p.yaml:3:1: expected one document, found "gate: [peak]"; put the second one in a file of its own`},
		{
			"too deep", "gate: " + strings.Repeat("[", 65),
			`p.yaml:1:71: expected at most 64 brackets within each other, found more`,
		},
		{
			"too long", strings.Repeat("#\n", 33<<10),
			`p.yaml:1:1: expected a file of at most 64.0 KiB, found 66.0 KiB; is this the right file?`,
		},
		{
			"an alias", "leak: &a {max_growth: 1MiB}\npeak: *a\n",
			`p.yaml:1:11: expected one of the keys max, notice, found "max_growth"`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := check.ParsePolicy([]byte(c.src), "p.yaml")
			if err == nil {
				t.Fatal("got no error")
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzParsePolicy: every error names the file and a position in it.
func FuzzParsePolicy(f *testing.F) {
	f.Add([]byte("gate: [recovery]\nrecovery: {min: 95%}\n"))
	f.Add([]byte("leak: &a {min_files: 8}\npeak: *a\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		if _, err := check.ParsePolicy(src,
			"p.yaml"); err != nil && !strings.HasPrefix(err.Error(), "p.yaml:") {
			t.Fatalf("the error names no position: %v", err)
		}
	})
}

// TestVerdictHoldsForAllDigits: a verdict on a ratio must hold for every value that the printed
// digits allow. The test compares the bounds of (b - a) / (b - s) with its values at the ends of
// the ranges of b, a and s, and at a grid inside. A printed 7.23 GiB, for example, has the range
// 7.225 to 7.235 GiB.
func TestVerdictHoldsForAllDigits(t *testing.T) {
	for _, c := range []struct {
		before, after string
		want          check.Verdict
	}{
		// The cleanup held 1.00 GB. If 0.04 GB are left, 95.5 to 96.5 % were freed; the least is 0.995 -
		// 0.045 of 0.995, which is 95.48 %. If 0.05 GB are left, it is 94.5 to 95.5 %.
		{"1.00GB", "0.04GB", check.Pass},
		{"1.00GB", "0.05GB", check.Undecided},
		{"1.00GB", "0.06GB", check.Fail},    // at best 1 - 0.055/1.005 = 94.53 %
		{"1.0GB", "0.0GB", check.Undecided}, // 0.05/0.95 may be left
		{"10.0GB", "0.0GB", check.Pass},
	} {
		log := "[GPU Memory] Before Model Cleanup: Allocated: " + c.before +
			"\n[GPU Memory] After Model Cleanup: Allocated: " + c.after + "\n"
		tl, err := parser.Build(parser.Read(strings.NewReader(log), "run.log"))
		if err != nil {
			t.Fatal(err)
		}
		if got := check.Of(tl, check.DefaultPolicy()).Findings[0]; got.Verdict != c.want {
			t.Errorf("%s -> %s: got %s (%s), want %s", c.before, c.after, got.Verdict, got.Message, c.want)
		}
	}
}
