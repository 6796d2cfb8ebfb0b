package pprof

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"vramsoak/parser/record"
	"vramsoak/parser/snapshot"
)

// TestSnapshotProfile: the profile of a recording adds up to its totals, and go tool pprof shows
// them.
func TestSnapshotProfile(t *testing.T) {
	snap, err := snapshot.Open(
		"../../fixtures/logs/torch_snapshot/silmont2000-assignment2-systems-mem-snapshot.pickle")
	if err != nil {
		t.Fatal(err)
	}
	a := snap.Devices[0].Analyze(snap.Annotations)
	for _, all := range []bool{false, true} {
		var out bytes.Buffer
		if err := Write(&out, snap, []*snapshot.Analysis{a}, all); err != nil {
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
				t.Errorf("got the label device %q", got)
			}
		}
		// The sums of Python's pickle and PyTorch's own allocator, see TestRecordings of
		// parser/snapshot.
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
		top, err := exec.CommandContext(t.Context(), "go", "tool", "pprof", "-top",
			"-sample_index=peak_space", path).Output()
		if err != nil {
			t.Fatal(err)
		}
		// 4 x 512 MiB of the softmax's backward pass, of 3,249,144,832 bytes.
		for _, want := range []string{
			"Type: peak_space\n",
			"    2048MB 66.09% 66.09%     2048MB 66.09%  DivBackward0 (C++)\n",
			"custom_scaled_dot_product_attention", "<module>",
		} {
			if !strings.Contains(string(top), want) {
				t.Errorf("expected %q in\n%s", want, top)
			}
		}
	}
}

// TestSnapshotProfileOfBlocks: free blocks are not samples.
func TestSnapshotProfileOfBlocks(t *testing.T) {
	stack := &snapshot.Stack{Frames: []*snapshot.Frame{
		{Function: "malloc", File: "??"},
		{Function: "main", File: "train.py", Line: 3},
	}}
	snap := &snapshot.Snapshot{Devices: []snapshot.Device{{Segments: []snapshot.Segment{{
		Size: 3072,
		Blocks: []snapshot.Block{
			{Size: 1024, State: record.BlockAllocated, Stack: stack},
			{Size: 512, State: record.BlockPending},
			{Size: 1536, State: record.BlockFree},
		},
	}}}}}
	var out bytes.Buffer
	if err := Write(&out, snap, []*snapshot.Analysis{{}}, false); err != nil {
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
