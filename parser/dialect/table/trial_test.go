package table_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser/dialect/table"
)

func TestTry(t *testing.T) {
	dialects := []table.Program{
		{Name: "nested", Lines: []table.Line{{Pattern: `(?P<checkpoint>after (?P<file>\w+)) mem=(?P<used>\d+)`, Unit: "MiB"}}},
		{Name: "other", Lines: []table.Line{{Pattern: `(?i)MEM=(?P<used>\d+)kb`}}},
	}
	log := "after a mem=1\n\nmem=2KB\rafter b mem=none\r\n" + strings.Repeat(
		"#",
		200<<10,
	) + "after c mem=3\nafter d mem=4"
	var b strings.Builder
	for trial, err := range table.Try(strings.NewReader(log), "run.log", dialects) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s matched=%t", trial.Pos, trial.Dialect, trial.Matched())
		for _, g := range trial.Groups {
			fmt.Fprintf(&b, " %s=%q", g.Name, trial.Text[g.Start:g.End])
		}
		for _, rec := range trial.Records {
			fmt.Fprintf(&b, " %T", rec)
		}
		b.WriteByte('\n')
	}
	const want = `run.log:1 nested matched=true checkpoint="after a" file="a" used="1" record.FileStart record.Checkpoint
run.log:3 other matched=true used="2" record.Checkpoint
run.log:3 nested matched=false
run.log:4 nested matched=true checkpoint="after c" file="c" used="3" record.FileStart record.Checkpoint
run.log:5 nested matched=true checkpoint="after d" file="d" used="4" record.FileStart record.Checkpoint
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTryErrors(t *testing.T) {
	broken := errors.New("the disk is gone")
	for _, err := range table.Try(io.MultiReader(strings.NewReader("a\nb\n"), iotest.ErrReader(broken)), "run.log",
		[]table.Program{{Name: "x", Lines: []table.Line{{Pattern: `VRAM (?P<used>\d+)`}}}}) {
		if !errors.Is(err, broken) || !strings.Contains(err.Error(), "run.log after line 2") {
			t.Errorf("got %v", err)
		}
	}
	for _, err := range table.Try(strings.NewReader("a\n"), "run.log", []table.Program{{Name: "x", Lines: []table.Line{{Pattern: `(`}}}}) {
		if err == nil {
			t.Error("a broken pattern is no error")
		}
	}
}
