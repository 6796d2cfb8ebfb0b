package check_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/harness/check"
)

// always is the end of a waiver that has not ended by the time of any log.
const always = "until: 9999-12-31, reason: r"

func policyOf(t *testing.T, src string) check.Policy {
	t.Helper()
	policy, err := check.ParsePolicy([]byte(src), "p.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

// leaking is a log of 12 files, on a known day, whose idle level grows by a number of bytes a file.
// Each file's cleanup frees a GiB.
func leaking(perFile int, day string) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	clock := 0
	harness := func(what, format string, args ...any) {
		clock++
		say("[vramsoak] "+what+" time=%sT23:59:%02d.000Z "+format,
			append([]any{day, clock}, args...)...)
	}
	harness("run-start", "files=12 feed=stdin version=v1 command=pipeline")
	for file := range 12 {
		harness("file-start", "index=%d path=%d.wav audio_seconds=10.000", file+1, file+1)
		level := 64<<20 + file*perFile
		for _, c := range []struct {
			name  string
			bytes int
		}{
			{"Pipeline Initialization", level},
			{"Before Whisper Cleanup", level + 1<<30},
			{"After Whisper Cleanup", level + perFile},
		} {
			say("[GPU Memory] %s: Allocated: %.2fGB | allocated=%d total=25769803776",
				c.name, float64(c.bytes)/(1<<30), c.bytes)
		}
		harness("file-end", "index=%d path=%d.wav status=ok seconds=0.900", file+1, file+1)
	}
	harness("run-end", "files=12 seconds=30.0 reason=done")
	return b.String()
}

// TestWaive judges a leak of 4 MiB a file with waivers. The run ends on 2026-11-20.
func TestWaive(t *testing.T) {
	t.Parallel()
	log := leaking(4<<20, "2026-11-20")
	for _, c := range []struct {
		name, policy string
		verdict      check.Verdict
		waived       bool
		says         string // in the message of the leak
		note         string // the only note, up to its end
	}{
		{"none", ``, check.Fail, false, "", ""},
		{
			"the whole check", `waive: [{check: leak, until: 2027-01-31, reason: torch 2.4}]`,
			check.Pass, true, "waived until 2027-01-31 (torch 2.4)", "",
		},
		{
			"the subject", `waive: [{check: leak, subject: idle level, ` + always + `}]`,
			check.Pass, true, "waived until 9999-12-31 (r)", "",
		},
		{
			"up to more", `waive: [{check: leak, up_to: 5MiB, ` + always + `}]`,
			check.Pass, true, "waived", "",
		},
		{
			"up to less", `waive: [{check: leak, up_to: 3MiB, ` + always + `}]`,
			check.Fail, false, "the waiver covers only up to 3.00 MiB/file, and there is 4.00 MiB/file", "",
		},
		{
			"the last day", `waive: [{check: leak, until: 2026-11-20, reason: r}]`,
			check.Pass, true, "waived until 2026-11-20 (r)", "",
		},
		{
			"ended the day before", `waive: [{check: leak, until: 2026-11-19, reason: r}]`,
			check.Fail, false, "the waiver ended on 2026-11-19 (r)", "",
		},
		{
			"ended and renewed",
			`waive: [{check: leak, until: 2026-11-19, reason: r}, {check: leak, ` + always + `}]`,
			check.Pass, true, "waived until 9999-12-31 (r)", "",
		},
		{
			"another check", `waive: [{check: recovery, ` + always + `}]`, check.Fail, false, "",
			"the waiver of recovery was not used: nothing that it names fails or is undecided; if it " +
				"stays so, take it out of the policy",
		},
		{
			"another check that has ended", `waive: [{check: recovery, until: 2026-11-19, reason: r}]`,
			check.Fail, false, "",
			"the waiver of recovery was not used and ended on 2026-11-19; take it out of the policy",
		},
		{
			"a check without data", `waive: [{check: dark-memory, ` + always + `}]`, check.Fail, false, "",
			"the waiver of dark-memory was not used: the log has no data for dark-memory",
		},
		{
			"a comparison that was not made", `waive: [{check: regression, ` + always + `}]`,
			check.Fail, false, "",
			"the waiver of regression was not used: the log has no data for regression",
		},
		{
			"a misspelt subject", `waive: [{check: leak, subject: idle levle, ` + always + `}]`,
			check.Fail, false, "", "the waiver of leak, idle levle was not used: leak has no finding " +
				`with this subject (did you mean "idle level"?)`,
		},
		{
			"the beginning of a subject", `waive: [{check: leak, subject: idle, ` + always + `}]`,
			check.Fail, false, "",
			"the waiver of leak, idle was not used: leak has no finding with this subject",
		},
		{
			"a required check", "require: [leak]\nwaive: [{check: leak, " + always + `}]`,
			check.Pass, true, "waived", "",
		},
		{
			"all that gates", "gate: [leak]\nwaive: [{check: leak, " + always + `}]`,
			check.Undecided, true, "waived",
			"every finding that could decide the verdict is waived, so the verdict is undecided",
		},
		{
			"a required check without data",
			"require: [dark-memory]\nwaive: [{check: dark-memory, " + always +
				"}, {check: leak, " + always + "}]",
			check.Undecided, true, "waived",
			"the waiver of dark-memory was not used: the log has no data for dark-memory",
		},
		{
			"a check that does not gate",
			"gate: [recovery]\nwaive: [{check: leak, " + always + `}]`, check.Pass, true, "waived", "",
		},
	} {
		r := check.Of(build(t, log), policyOf(t, c.policy))
		i := slices.IndexFunc(r.Findings, func(f check.Finding) bool { return f.Check == check.Leak })
		f := r.Findings[i]
		if r.Verdict != c.verdict {
			t.Errorf("%s: the verdict is %s, want %s", c.name, r.Verdict, c.verdict)
		}
		if f.Verdict != check.Fail || *f.Measured != 4<<20 {
			t.Errorf("%s: the finding changed: %+v", c.name, f)
		}
		if (f.Waived != nil) != c.waived || c.waived && f.Gates {
			t.Errorf("%s: waived %v, gates %v, want waived %v", c.name, f.Waived, f.Gates, c.waived)
		}
		if says := strings.Contains(f.Message, "waive"); says != (c.says != "") ||
			!strings.HasPrefix(f.Message, c.says) {
			t.Errorf("%s: the message is %q, want %q in it", c.name, f.Message, c.says)
		}
		if note := strings.Join(r.Notes, "\n"); note != c.note {
			t.Errorf("%s: the notes are %q, want %q", c.name, note, c.note)
		}
	}
}

// TestWaiveWithoutDate: the waivers of a log without a date end by the present day.
func TestWaiveWithoutDate(t *testing.T) {
	t.Parallel()
	log := leaking(4<<20, "2026-11-20")
	var bare []string
	for line := range strings.Lines(log) {
		if strings.HasPrefix(line, "[GPU") {
			bare = append(bare, line)
		}
	}
	for until, want := range map[string]check.Verdict{
		"2020-01-01": check.Fail, "9999-12-31": check.Pass,
	} {
		policy := policyOf(t, "waive: [{check: leak, reason: r, until: "+until+"}]")
		if got := check.Of(build(t, strings.Join(bare, "")), policy).Verdict; got != want {
			t.Errorf("until %s: the verdict is %s, want %s", until, got, want)
		}
	}
}

// TestWaiveWorst: a finding stands for several files or processes. If one of them is worse than the
// waiver allows, the waiver does not cover the finding, whichever it shows.
func TestWaiveWorst(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for file, kept := range []int{12, 40, 15} { // percent
		fmt.Fprintf(&b, "[GPU Memory] Before A Cleanup: Allocated: 0GB | allocated=%d\n", 100<<20)
		fmt.Fprintf(&b, "[GPU Memory] After A Cleanup: Allocated: 0GB | allocated=%d\n", kept<<20)
		fmt.Fprintf(&b, "[GPU Memory] End of File %d: Allocated: 0GB | allocated=0\n", file)
	}
	log := b.String()
	for _, c := range []struct {
		upTo string
		want check.Verdict
		says string
	}{
		{"90%", check.Fail, "covers only at least 90.0 %, and there is 60.0 %"},
		{"85%", check.Fail, "covers only at least 85.0 %, and there is 60.0 %"},
		{"61%", check.Fail, "covers only at least 61.0 %, and there is 60.0 %"},
		{"60%", check.Undecided, "waived"}, // nothing else is judged
		{"50%", check.Undecided, "waived"},
	} {
		policy := policyOf(t, "gate: [recovery]\nwaive: [{check: recovery, up_to: "+c.upTo+", "+
			always+"}]")
		r := check.Of(build(t, log), policy)
		if r.Verdict != c.want || !strings.Contains(r.Findings[0].Message, c.says) {
			t.Errorf("up to %s: the verdict is %s, want %s with %q: %+v", c.upTo, r.Verdict, c.want,
				c.says, r.Findings[0])
		}
	}
}

// TestWaiveNoReadings: a log that names its files and has no memory reading does not pass, although
// its only failure is waived and a failed allocation was recovered.
func TestWaiveNoReadings(t *testing.T) {
	t.Parallel()
	const log = `[pipeline] file-start path=a.wav
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.
[pipeline] file-end path=a.wav status=ok
[pipeline] file-start path=b.wav
[pipeline] file-end path=b.wav status=failed error="bad file"
`
	for _, waive := range []string{
		"", "waive: [{check: completeness, " + always + "}]",
		"waive: [{check: completeness, " + always + "}, {check: recovery, " + always + "}]",
	} {
		want := check.Undecided
		if waive == "" {
			want = check.Fail
		}
		if r := check.Of(build(t, log), policyOf(t, waive)); r.Verdict != want {
			t.Errorf("%q: the verdict is %s, want %s: %+v", waive, r.Verdict, want, r.Findings)
		}
	}
}

// TestWaiveJoined: findings that are added later are waived too, and each note stays once.
func TestWaiveJoined(t *testing.T) {
	t.Parallel()
	policy := policyOf(t, "waive: [{check: regression, subject: peak, "+always+"}, {check: leak, "+
		always+"}]")
	r := &check.Report{Policy: policy, Notes: []string{"first"}}
	r.Join(check.Finding{Check: check.Recovery, Verdict: check.Pass, Subject: "A Cleanup"})
	for _, subject := range []string{
		"peak, against a.json", "peak (device 1), against b, against c.json",
		"peak (rank 3, device 1)", "peak (train pid=7, device 0)",
	} {
		r.Join(check.Finding{Check: check.Regression, Verdict: check.Fail, Subject: subject})
	}
	const unused = "the waiver of leak was not used: the log has no data for leak"
	if diff := cmp.Diff([]string{"first", unused}, r.Notes); r.Verdict != check.Pass || diff != "" {
		t.Errorf("the verdict is %s, want pass; notes (-want +got):\n%s", r.Verdict, diff)
	}
	for _, subject := range []string{"peak of A", "peak (post-cleanup)", "peak reserved"} {
		r.Join(check.Finding{Check: check.Regression, Verdict: check.Fail, Subject: subject})
		f := r.Findings[len(r.Findings)-1]
		if f.Waived != nil || f.Subject != subject || r.Verdict != check.Fail {
			t.Errorf("%s is waived: %+v", subject, f)
		}
	}
}

// TestWaiversHideNothing tries waivers of each check, without a limit and with a large one, on all
// logs of fixtures/check. A waived finding fails or is undecided as before, other findings stay as
// they are, and the verdict is that of the other findings.
func TestWaiversHideNothing(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob("../../fixtures/check/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	units := map[string]bool{}
	waived, passed := 0, 0
	for _, path := range cases {
		log, policy := caseOf(t, path)
		tl := timelineOf(t, log)
		before := check.Of(tl, policy)
		for _, name := range check.Checks {
			policy := policy
			policy.Waive = policyOf(t, "waive: [{check: "+name+", "+always+"}]").Waive
			after := check.Of(tl, policy)
			rest := &check.Report{Policy: policy}
			rest.Policy.Waive = nil
			for _, f := range after.Findings {
				if f.Waived == nil {
					rest.Join(f)
					continue
				}
				waived++
				if f.Check != name || f.Gates || f.Verdict != check.Fail && f.Verdict != check.Undecided {
					t.Errorf("%s, waiver of %s: waives %+v", filepath.Base(path), name, f)
				}
				unit, _, _ := strings.Cut(f.Unit, "/")
				units[name+" "+unit] = true
			}
			if after.Verdict != rest.Verdict {
				t.Errorf("%s, waiver of %s: the verdict is %s, the other findings give %s",
					filepath.Base(path), name, after.Verdict, rest.Verdict)
			}
			if after.Verdict == check.Pass && before.Verdict != check.Pass {
				passed++
			}
			sameFindings(t, filepath.Base(path)+", waiver of "+name, name, before, after)
		}
	}
	if waived < 100 || passed < 30 {
		t.Errorf("only %d findings were waived, and %d logs then passed: too few to prove the claim",
			waived, passed)
	}
	unitsAreRead(t, units)
}

// sameFindings fails the test if a waiver of a check changed another finding, or any verdict.
// The finding that a log has no reading is skipped beside a failure, and undecided if that is
// waived.
func sameFindings(t *testing.T, what, waived string, before, after *check.Report) {
	t.Helper()
	shown := func(r *check.Report) (all []string) {
		for _, f := range r.Findings {
			if f.Subject == "memory readings" {
				continue
			}
			message := strings.TrimPrefix(f.Message, "waived until 9999-12-31 (r): ")
			gates := f.Check == waived || f.Gates
			all = append(all, fmt.Sprint(f.Check, f.Verdict, f.Subject, f.File, message, gates))
		}
		return all
	}
	if diff := cmp.Diff(shown(before), shown(after)); diff != "" {
		t.Errorf("%s: the findings (-before +after):\n%s", what, diff)
	}
}

// unitsAreRead fails the test if up_to cannot be given in a unit in which a check measured.
func unitsAreRead(t *testing.T, units map[string]bool) {
	t.Helper()
	for unit := range units {
		name, unit, _ := strings.Cut(unit, " ")
		value := map[string]string{check.Bytes: "1MiB", check.Ratio: "50%"}[unit]
		if value == "" {
			value = "2"
		}
		src := "waive: [{check: " + name + ", up_to: " + value + ", " + always + "}]"
		if _, err := check.ParsePolicy([]byte(src), "p.yaml"); unit != "" && err != nil {
			t.Errorf("%s measures in %s, and %v", name, unit, err)
		}
	}
}

// TestSlowWithoutReadings: a log without memory readings does not pass, although a check that does
// not gate fails.
func TestSlowWithoutReadings(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	fmt.Fprintln(&b, "[vramsoak] run-start time=2026-11-20T02:00:00.000Z files=24 feed=stdin "+
		"version=v1 command=pipeline")
	for file := 1; file <= 24; file++ {
		seconds := 10 + file%2
		if file > 12 {
			seconds *= 3
		}
		start := fmt.Sprintf("2026-11-20T%02d:00:00.000Z index=%d path=%d.wav", file-1, file, file)
		end := fmt.Sprintf("2026-11-20T%02d:00:%02d.000Z index=%d path=%d.wav", file-1, seconds,
			file, file)
		fmt.Fprintf(&b, "[vramsoak] file-start time=%s\n[vramsoak] file-end time=%s status=ok "+
			"seconds=%d.000\n", start, end, seconds)
	}
	fmt.Fprintln(&b, "[vramsoak] run-end time=2026-11-20T23:59:00.000Z files=24 seconds=86000 "+
		"reason=done")
	r := check.Of(build(t, b.String()), check.DefaultPolicy())
	slow := slices.ContainsFunc(r.Findings, func(f check.Finding) bool {
		return f.Check == check.Throughput && f.Verdict == check.Fail
	})
	if !slow || r.Verdict != check.Undecided {
		t.Errorf("throughput fails: %v; the verdict is %s, want undecided", slow, r.Verdict)
	}
}
