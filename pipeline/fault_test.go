package pipeline

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFaults(t *testing.T) {
	var f Faults
	for _, spec := range []string{
		"leak:4MiB", "leak:512", "keep:Whisper", "oom:3", "crash:20",
		"hang:1", "oom-batch:4", "oom-item:5",
	} {
		if err := f.Set(spec); err != nil {
			t.Error(err)
		}
	}
	want := Faults{
		Leak: 4<<20 + 512,
		Keep: []string{"Whisper"},
		At: map[int]Fault{
			3: FaultOOM, 20: FaultCrash, 1: FaultHang, 4: FaultOOMBatch,
			5: FaultOOMItem,
		},
	}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Error(diff)
	}
	if got, want := f.String(),
		"leak:4194816 keep:Whisper hang:1 oom:3 oom-batch:4 oom-item:5 crash:20"; got != want {
		t.Errorf("expected %q, found %q", want, got)
	}
}

const specs = "leak:SIZE, keep:NAME, oom:N, oom-batch:N, oom-item:N, oom-text-batch:N, " +
	"oom-text-item:N, crash:N or hang:N"

func TestBadFaults(t *testing.T) {
	for spec, want := range map[string]string{
		"":           "expected " + specs + `, found ""`,
		"crash":      "expected " + specs + `, found "crash"`,
		"burn:3":     "expected " + specs + `, found "burn:3"`,
		"leak:4Mega": `leak: expected a unit of B, KiB, MiB, GiB or TiB (GB reads as GiB), found "mega" in "4Mega"`,
		"leak:0":     `leak: expected a size above 0, such as leak:4MiB, found "0"`,
		"leak:-1MiB": `leak: expected a size above 0, such as leak:4MiB, found "-1MiB"`,
		"keep:":      "keep: expected the name of a cleanup, such as keep:Whisper, found nothing",
		"oom:":       `oom: expected a file's place in the batch, from 1, such as oom:20, found ""`,
		"crash:0":    `crash: expected a file's place in the batch, from 1, such as crash:20, found "0"`,
		"hang:2.5":   `hang: expected a file's place in the batch, from 1, such as hang:20, found "2.5"`,
		"oom:7":      "oom: expected one fault at file 7, which has crash already",
	} {
		f := Faults{At: map[int]Fault{7: FaultCrash}}
		if err := f.Set(spec); err == nil || err.Error() != want {
			t.Errorf("%q: expected error %q, found %v", spec, want, err)
		}
	}
}
