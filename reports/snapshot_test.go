package reports

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"vramsoak/fixtures/golden"
	"vramsoak/parser"
	"vramsoak/parser/snapshot"
)

// failedSnapshot is what an allocator held that failed: 3 MiB in pieces, of which a leak keeps the segments.
func failedSnapshot() *snapshot.Analysis {
	leak := snapshot.Site{Function: "main", File: "/home/me/transcribe.py", Line: 40, Library: snapshot.Frame{
		Function: "forward", File: "/opt/lib/python3.12/site-packages/whisper/model.py", Line: 88,
	}}
	before := snapshot.Site{Function: snapshot.Before}
	held := snapshot.Usage{Site: leak, Bytes: 6 << 20, Blocks: 1200, Largest: 8 << 10}
	return &snapshot.Analysis{
		Device: 1,
		Totals: snapshot.Totals{Segments: 10, Blocks: 1201, Reserved: 20 << 20, Allocated: 9 << 20, Active: 10 << 20, Requested: 9 << 20, Private: 2 << 20},
		Holds:  []snapshot.Usage{held, {Site: before, Bytes: 4 << 20, Blocks: 1, Largest: 4 << 20}},
		Free: snapshot.Free{
			Sum: 10 << 20, Whole: 2 << 20, InactiveSplit: 8 << 20, Largest: 2 << 20,
			Pins: []snapshot.Pin{{Site: leak, Segments: 4, Free: 7 << 20, Holds: 1 << 20}},
		},
		Trace: &snapshot.Trace{
			Events: 12345, Micros: 61_500_000, StartReserved: 4 << 20, StartAllocated: 4 << 20, Unexplained: 2, Allocations: 5000,
			Peak:      snapshot.Moment{Event: 999, Reserved: 20 << 20, Allocated: 18 << 20, In: "Optimizer.step#AdamW.step"},
			PeakHolds: []snapshot.Usage{{Site: before, Bytes: 18 << 20, Blocks: 1, Largest: 18 << 20}},
			Kept:      []snapshot.Growth{{Usage: held, Steps: 57, From: 0.02, To: 0.98}},
			OOMs: []snapshot.OutOfMemory{
				{
					Event: 12344, Requested: 3 << 20, DeviceFree: 1 << 20, Reserved: 20 << 20, Allocated: 9 << 20, Free: 10 << 20, Usable: 8 << 20,
					Largest: 2 << 20, Site: leak,
				},
				{Event: 100, Requested: 30 << 20, DeviceFree: 1 << 20, Reserved: 20 << 20, Allocated: 15 << 20, Free: 5 << 20, Largest: 2 << 20, Site: before},
			},
		},
	}
}

func TestSnapshotText(t *testing.T) {
	const path = "testdata/snapshot/failed.txt"
	var got bytes.Buffer
	if err := SnapshotText(&got, []*snapshot.Analysis{failedSnapshot(), {}}, SnapshotOptions{Top: 1}); err != nil {
		t.Fatal(err)
	}
	if golden.Updating() {
		golden.Rewrite(t, path, got.Bytes())
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSnapshotJSON(t *testing.T) {
	var out bytes.Buffer
	if err := SnapshotJSON(&out, "oom.pickle", []*snapshot.Analysis{failedSnapshot()}); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Schema, Path string
		Devices      []struct {
			Holds []struct{ Bytes int64 }
			Trace struct {
				OOMs []struct {
					LargestFree int64 `json:"largest_free"`
				}
			}
		}
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Schema != "vramsoak.snapshot/1" || got.Path != "oom.pickle" || got.Devices[0].Holds[0].Bytes != 6<<20 || got.Devices[0].Trace.OOMs[0].LargestFree != 2<<20 {
		t.Errorf("%+v", got)
	}
}

// TestSnapshotProfile: the profile of a recording adds up to its totals, and go tool pprof shows them.
func TestSnapshotProfile(t *testing.T) {
	snap, err := snapshot.Open("../fixtures/logs/torch_snapshot/silmont2000-assignment2-systems-mem-snapshot.pickle")
	if err != nil {
		t.Fatal(err)
	}
	a := snap.Devices[0].Analyze(snap.Annotations)
	for _, all := range []bool{false, true} {
		var out bytes.Buffer
		if err := SnapshotProfile(&out, snap, []*snapshot.Analysis{a}, all); err != nil {
			t.Fatal(err)
		}
		prof, err := profile.ParseData(out.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		sums := make([]int64, 4)
		for _, s := range prof.Sample {
			for i, v := range s.Value {
				sums[i] += v
			}
			if got := s.Label["device"]; len(got) != 1 || got[0] != "cuda:0" {
				t.Errorf("label device %q", got)
			}
		}
		// As Python's pickle and PyTorch's own allocator have them, see TestRecordings of parser/snapshot.
		if want := []int64{31719936, 10, 3249144832, 17}; !cmp.Equal(sums, want) {
			t.Errorf("sums %d, expected %d", sums, want)
		}
		if all {
			continue
		}
		path := filepath.Join(t.TempDir(), "memory.pb.gz")
		if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		top, err := exec.CommandContext(t.Context(), "go", "tool", "pprof", "-top", "-sample_index=peak_space", path).Output()
		if err != nil {
			t.Fatal(err)
		}
		// 4 x 512 MiB of the softmax's backward pass, of 3,249,144,832 bytes.
		for _, want := range []string{"Type: peak_space\n", "    2048MB 66.09% 66.09%     2048MB 66.09%  DivBackward0 (C++)\n", "custom_scaled_dot_product_attention", "<module>"} {
			if !strings.Contains(string(top), want) {
				t.Errorf("expected %q in\n%s", want, top)
			}
		}
	}
}

// TestSnapshotProfileOfBlocks: a block that is free is no sample.
func TestSnapshotProfileOfBlocks(t *testing.T) {
	stack := &snapshot.Stack{Frames: []*snapshot.Frame{{Function: "malloc", File: "??"}, {Function: "main", File: "train.py", Line: 3}}}
	snap := &snapshot.Snapshot{Devices: []snapshot.Device{{Segments: []snapshot.Segment{{Size: 3072, Blocks: []snapshot.Block{
		{Size: 1024, State: parser.BlockAllocated, Stack: stack}, {Size: 512, State: parser.BlockPending}, {Size: 1536, State: parser.BlockFree},
	}}}}}}
	var out bytes.Buffer
	if err := SnapshotProfile(&out, snap, []*snapshot.Analysis{{}}, false); err != nil {
		t.Fatal(err)
	}
	prof, err := profile.ParseData(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, s := range prof.Sample {
		got[s.Location[0].Line[0].Function.Name] = s.Value[0]
	}
	if diff := cmp.Diff(map[string]int64{"main": 1024, snapshot.NoStack: 512}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
