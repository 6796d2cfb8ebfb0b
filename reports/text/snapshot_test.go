package text

import (
	"bytes"
	"testing"

	"vramsoak/fixtures/golden"
	"vramsoak/parser/snapshot"
)

// failedSnapshot returns the analysis of an allocator when an allocation failed: 3 MiB are free in
// pieces, and a leak keeps their segments.
func failedSnapshot() *snapshot.Analysis {
	leak := snapshot.Site{
		Function: "main", File: "/home/me/transcribe.py", Line: 40,
		Library: snapshot.Frame{
			Function: "forward", File: "/opt/lib/python3.12/site-packages/whisper/model.py",
			Line: 88,
		},
	}
	before := snapshot.Site{Function: snapshot.Before}
	held := snapshot.Usage{Site: leak, Bytes: 6 << 20, Blocks: 1200, Largest: 8 << 10}
	return &snapshot.Analysis{
		Device: 1,
		Totals: snapshot.Totals{
			Segments: 10, Blocks: 1201, Reserved: 20 << 20, Allocated: 9 << 20,
			Active: 10 << 20, Requested: 9 << 20, Private: 2 << 20,
		},
		Holds: []snapshot.Usage{held, {Site: before, Bytes: 4 << 20, Blocks: 1, Largest: 4 << 20}},
		Free: snapshot.Free{
			Sum: 10 << 20, Whole: 2 << 20, InactiveSplit: 8 << 20, Largest: 2 << 20,
			Pins: []snapshot.Pin{{Site: leak, Segments: 4, Free: 7 << 20, Holds: 1 << 20}},
		},
		Trace: &snapshot.Trace{
			Events: 12345, Micros: 61_500_000, StartReserved: 4 << 20, StartAllocated: 4 << 20,
			Unexplained: 2, Allocations: 5000,
			Peak: snapshot.Moment{
				Event: 999, Reserved: 20 << 20, Allocated: 18 << 20,
				In: "Optimizer.step#AdamW.step",
			},
			PeakHolds: []snapshot.Usage{{
				Site: before, Bytes: 18 << 20, Blocks: 1,
				Largest: 18 << 20,
			}},
			Kept: []snapshot.Growth{{Usage: held, Steps: 57, From: 0.02, To: 0.98}},
			OOMs: []snapshot.OutOfMemory{
				{
					Event: 12344, Requested: 3 << 20, DeviceFree: 1 << 20, Reserved: 20 << 20,
					Allocated: 9 << 20, Free: 10 << 20, Usable: 8 << 20,
					Largest: 2 << 20, Site: leak,
				},
				{
					Event: 100, Requested: 30 << 20, DeviceFree: 1 << 20, Reserved: 20 << 20,
					Allocated: 15 << 20, Free: 5 << 20, Largest: 2 << 20, Site: before,
				},
			},
		},
	}
}

func TestSnapshotText(t *testing.T) {
	var got bytes.Buffer
	if err := Snapshot(&got, []*snapshot.Analysis{failedSnapshot(), {}},
		SnapshotOptions{Top: 1}, Options{Width: 200}); err != nil {
		t.Fatal(err)
	}
	golden.File(t, "testdata/snapshot/failed.txt", got.Bytes())
}
