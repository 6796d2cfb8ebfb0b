package snapshot

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const recordings = "../../fixtures/logs/torch_snapshot"

// TestRecordings reads files that PyTorch wrote on real GPUs from 2023 to 2026. The reader sums up
// the blocks. The expected sums are those of PyTorch's own fields (allocated_size, active_size,
// requested_size), as Python's own pickle reads them. The expected peaks are those of PyTorch's own
// allocator on the fake driver, after a replay of the events:
//
//	vramsoak snapshot FILE.pickle --trace FILE.trace && FAKE_CUDA_TOTAL=80G replay -q -s FILE.trace
//
// (The only event of the 1.3b file is the end of a free. The replay frees at once, so its peak is
// 8,896,512 bytes higher.)
func TestRecordings(t *testing.T) {
	tests := []struct {
		file                          string
		totals                        Totals
		events                        int
		free, largest, peak, reserved int64 // in bytes
	}{
		{
			"jaspersolt-eor_nn-snapshot.pickle",
			Totals{
				Segments: 10, Blocks: 40, Reserved: 134217728, Allocated: 48760832, Active: 48760832,
				Requested: 48748928,
			},
			5803, 85456896, 20971520, 110110720, 134217728,
		},
		{
			"kkaitlyn111-cs336-a2-systems-mory-files-memory-ctx128-forward-.pickle",
			Totals{
				Segments: 516, Blocks: 1227, Reserved: 19667091456, Allocated: 19498420224,
				Active: 19498420224, Requested: 19352504320,
			},
			4657, 168671232, 4194304, 19498420224, 19667091456,
		},
		{
			"silmont2000-assignment2-systems-mem-snapshot.pickle",
			Totals{
				Segments: 9, Blocks: 10, Reserved: 3781165056, Allocated: 31719936, Active: 31719936,
				Requested: 31719428,
			},
			97, 3749445120, 536870912, 3249144832, 3781165056,
		},
		{
			"silmont2000-assignment2-systems-memory-forward-bf16-128.pickle",
			Totals{
				Segments: 43, Blocks: 137, Reserved: 861929472, Allocated: 525286400, Active: 525286400,
				Requested: 523811840,
			},
			2811, 336643072, 20971520, 815783936, 861929472,
		},
		{
			"wedsonlin-assignment2-systems-ium-128-inference-memory-snapshot.pickle",
			Totals{
				Segments: 98, Blocks: 223, Reserved: 1763704832, Allocated: 1703276544,
				Active: 1703276544, Requested: 1701310464,
			},
			3840, 60428288, 20971520, 1738928128, 1763704832,
		},
		{
			"yiyi-philosophy-llm-inference-1.3b-snapshot.pickle",
			Totals{
				Segments: 257, Blocks: 785, Reserved: 7608467456, Allocated: 5683450880,
				Active: 5683450880, Requested: 5683449864,
			},
			1, 1925016576, 207618048, 5683450880, 7608467456,
		},
		{
			"yiyi-philosophy-llm-inference-oom-snapshot.pickle",
			Totals{
				Segments: 176, Blocks: 460, Reserved: 11844714496, Allocated: 11840159744,
				Active: 11840159744, Requested: 11840159744,
			},
			1, 4554752, 2080768, 11840159744, 11844714496,
		},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			snap, err := Open(filepath.Join(recordings, tt.file))
			if err != nil {
				t.Fatal(err)
			}
			if len(snap.Devices) != 1 {
				t.Fatalf("%d devices", len(snap.Devices))
			}
			a := snap.Devices[0].Analyze(snap.Annotations)
			if diff := cmp.Diff(tt.totals, a.Totals); diff != "" {
				t.Errorf("totals (-want +got):\n%s", diff)
			}
			got := []int64{
				int64(a.Trace.Events), a.Free.Sum, a.Free.Largest, a.Trace.Peak.Allocated,
				a.Trace.Peak.Reserved,
			}
			want := []int64{int64(tt.events), tt.free, tt.largest, tt.peak, tt.reserved}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("events, free, largest free block, peak allocated, reserved then (-want +got):\n%s",
					diff)
			}
			holds(t, a)
			redone(t, &snap.Devices[0])
		})
	}
	if files, err := filepath.Glob(recordings + "/*.pickle"); err != nil || len(files) != len(tests) {
		t.Errorf("%d recordings, %d tests: %v", len(files), len(tests), err)
	}
}

// TestH100 reads a snapshot of PyTorch 2.11, compressed with gzip. The expected sums are those of
// PyTorch's own fields, as Python's own pickle reads them. Two files of the run leaked 4 MiB each.
func TestH100(t *testing.T) {
	snap, err := Open("../../fixtures/h100/snapshot.pickle.gz")
	if err != nil {
		t.Fatal(err)
	}
	a := snap.Devices[0].Analyze(snap.Annotations)
	if diff := cmp.Diff(Totals{
		Segments: 3, Blocks: 4, Reserved: 56623104, Allocated: 42991616, Active: 42991616,
		Requested: 42991616,
	}, a.Totals); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
	if a.Trace.Events != 22617 {
		t.Errorf("%d events", a.Trace.Events)
	}
	holds(t, a)
	redone(t, &snap.Devices[0])
}

// holds fails the test unless the sites of an analysis add up to its totals.
func holds(t *testing.T, a *Analysis) {
	t.Helper()
	sum := func(usages []Usage) (bytes int64) {
		for _, u := range usages {
			bytes += u.Bytes
		}
		return bytes
	}
	if got := sum(a.Holds); got != a.Totals.Active {
		t.Errorf("sites hold %d, active are %d", got, a.Totals.Active)
	}
	if got := a.Totals.Active + a.Free.Sum; got != a.Totals.Reserved {
		t.Errorf("active and free are %d, reserved %d", got, a.Totals.Reserved)
	}
	if got := sum(a.Trace.PeakHolds); got != a.Trace.Peak.Allocated {
		t.Errorf("sites held %d at the peak, allocated were %d", got, a.Trace.Peak.Allocated)
	}
	if a.Trace.Unexplained != 0 {
		t.Errorf("%d events are unexplained", a.Trace.Unexplained)
	}
}

// redone fails the test unless undoing all events and doing them again leads back to the blocks
// in the file.
func redone(t *testing.T, d *Device) {
	t.Helper()
	m := d.first()
	for i, e := range d.Events {
		m.do(e, i)
	}
	if diff := cmp.Diff(placed(d.last()), placed(m)); diff != "" {
		t.Errorf("segments in the file and after all events (-file +events):\n%s", diff)
	}
}

// placed returns the address, the size and the requested size of each segment and each block in
// use.
func placed(m *memory) (out [][3]int64) {
	for s := range m.inOrder() {
		out = append(out, [3]int64{int64(s.address), s.size, -1})
		for h := range m.heldBy(s) {
			out = append(out, [3]int64{int64(h.address), h.size, h.requested})
		}
	}
	return out
}

// TestOpenRefuses: if a path is not that of a file, the error says so.
func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir); err == nil ||
		err.Error() != dir+" is a folder; expected a snapshot in it, such as "+dir+"/snapshot.pickle" {
		t.Error(err)
	}
	if _, err := Open(filepath.Join(dir, "none")); !os.IsNotExist(err) {
		t.Error(err)
	}
}

func BenchmarkRead(b *testing.B) {
	data, err := os.ReadFile(filepath.Join(recordings,
		"wedsonlin-assignment2-systems-ium-128-inference-memory-snapshot.pickle"))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := Read(bytes.NewReader(data), "x"); err != nil {
			b.Fatal(err)
		}
	}
}
