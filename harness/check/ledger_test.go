package check

import (
	"slices"
	"testing"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// TestNewLedger: an entry in Ledgers is all that a new ledger needs. The entry of this test gets a
// check, a key in the policy file and a metric. It grows by 1 a file in files 1 to 12, so it fails
// at a limit of 0.5 and passes at one of 2.
func TestNewLedger(t *testing.T) { // not parallel: it changes Ledgers
	ledgers, checks := Ledgers, Checks
	defer func() { Ledgers, Checks = ledgers, checks }()
	Ledgers = append(slices.Clip(ledgers), Ledger{
		Check: "semaphores", Name: "open semaphores", Key: "semaphores", Unit: Count,
		MaxGrowth: 0.5, Gates: true, missing: "no file ends with a number of semaphores",
		level: func(c *record.Checkpoint) (record.Size, bool) { return c.Get(record.Holds) },
	})
	Checks = append(slices.Clip(checks), "semaphores")

	tl := &timeline.Timeline{Checkpoints: 12}
	for i := range 12 {
		c := record.Checkpoint{Name: "After File"}
		c.Pos.Line = i + 1
		c.Set(record.Holds, record.Exact(int64(30+i)))
		tl.Files = append(tl.Files, &timeline.File{
			Index: i + 1, Status: record.StatusOK, Supervised: true, Pos: c.Pos, EndPos: c.Pos,
			Checkpoints: []record.Checkpoint{c},
		})
	}
	wide, err := ParsePolicy([]byte("semaphores: {max_growth: 2}"), "p.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		policy  Policy
		verdict Verdict
		message string
	}{
		{
			DefaultPolicy(), Fail,
			"grows by 1 a file, from 30 to 41, and goes on; at most 0.5 a file is allowed",
		},
		{wide, Pass, "grows by 1 a file, which is allowed"},
	} {
		report := Of(tl, c.policy)
		i := slices.IndexFunc(report.Findings, func(f Finding) bool {
			return f.Subject == "open semaphores"
		})
		if i < 0 {
			t.Fatal("the new ledger has no finding")
		}
		f := report.Findings[i]
		if f.Check != "semaphores" || f.Verdict != c.verdict || !f.Gates ||
			f.Message != c.message || f.Unit != Count+PerFile {
			t.Errorf("got %+v", f)
		}
		if report.Verdict != c.verdict {
			t.Errorf("the report's verdict is %s, want %s", report.Verdict, c.verdict)
		}
		if !slices.ContainsFunc(report.Measured.Metrics, func(m Metric) bool {
			return m.Name == "open semaphores" && m.Unit == Count && len(m.Values) == 12 &&
				m.Values[11] == 41
		}) {
			t.Error("the new ledger has no metric")
		}
	}
}
