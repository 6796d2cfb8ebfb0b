package check

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"vramsoak/parser"
	"vramsoak/parser/record"
)

// TestDeviceUsedContainsTheLeak: allocated memory grows by 4 MiB a file, and device used with it.
// One finding says so, also if a waiver covers it. Device used that grows faster has a finding of
// its own.
func TestDeviceUsedContainsTheLeak(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile("../../fixtures/check/device-used-contains-the-leak.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		policy string
		faster int64 // bytes a file
		want   Verdict
		report Verdict
	}{
		{"as fast", "", 0, Skipped, Fail},
		{"as fast, and known", "waive: [{check: leak, until: 2026-12-31, reason: r}]", 0, Skipped, Pass},
		{
			"faster, and known", "waive: [{check: leak, until: 2026-12-31, reason: r}]", 50 << 20,
			Fail, Fail,
		},
		{"faster than a leak that does not gate", "gate: [device-used]", 50 << 20, Fail, Fail},
	} {
		policy, err := ParsePolicy([]byte(c.policy), "p.yaml")
		if err != nil {
			t.Fatal(err)
		}
		tl, err := parser.Build(parser.Read(strings.NewReader(string(archive.Files[0].Data)), "run.log"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range tl.Samples {
			s := &tl.Samples[i]
			size, _ := s.Get(record.Used)
			file := int64(0)
			for _, f := range tl.Files {
				if f.Pos.Line <= s.Pos.Line {
					file = int64(f.Index)
				}
			}
			size.Bytes += file * c.faster
			s.Set(record.Used, size)
		}
		rep := Of(tl, policy)
		f := findingOf(t, rep, DeviceGrowth)
		if f.Verdict != c.want || rep.Verdict != c.report {
			t.Errorf("%s: device used: %s, want %s; the report: %s, want %s", c.name, f.Verdict, c.want,
				rep.Verdict, c.report)
		}
	}
}

// TestPoolBesideCheckpoints: if a library hands out the device's memory itself, the driver's
// samples decide nothing where checkpoints show what the program holds.
func TestPoolBesideCheckpoints(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile("../../fixtures/check/device-used-contains-the-leak.txtar")
	if err != nil {
		t.Fatal(err)
	}
	policy, err := ParsePolicy([]byte("leak: {max_growth: 10MiB}"), "p.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for pool, want := range map[string]Verdict{"": Pass, "JAX": Skipped} {
		tl, err := parser.Build(parser.Read(strings.NewReader(string(archive.Files[0].Data)), "run.log"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range tl.Samples {
			tl.Samples[i].Set(record.Used, record.Exact(20<<30))
		}
		tl.Samples[0].Pool = pool
		if f := findingOf(t, Of(tl, policy), DeviceGrowth); f.Verdict != want {
			t.Errorf("with %q: %s, want %s: %s", pool, f.Verdict, want, f.Message)
		}
	}
}
