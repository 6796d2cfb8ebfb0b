package segments_test

import (
	"bytes"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/tools/txtar"

	"vramsoak/parser"
	"vramsoak/parser/record"
	"vramsoak/parser/segments"
	"vramsoak/parser/timeline"
)

// randomMap returns a random map. Its segments look like an allocator's, but some sizes are ones
// that no allocator uses.
func randomMap(r *rand.Rand, count int) record.SegmentMap {
	m := record.SegmentMap{
		Lane: record.Lane{
			Device: r.IntN(3),
			Rank:   r.IntN(2),
		},
		Name: []string{"file end", "out of memory", "", `a"b`}[r.IntN(4)],
		Total: r.Int64N(
			1 << 40,
		),
		Used:      r.Int64N(1 << 40),
		Requested: r.Int64N(2) * r.Int64N(1<<40),
		Allowed:   r.Int64N(2) * r.Int64N(1<<40),
	}
	m.Time = time.UnixMilli(r.Int64N(1e12)).UTC()
	unit := int64(512)
	if r.IntN(8) == 0 {
		unit = 1
	}
	address := uint64(0x7f0000000000)
	for range count {
		s := record.Segment{
			Address:    address,
			Small:      r.IntN(2) == 0,
			Expandable: r.IntN(4) == 0,
			Stream:     r.Uint64N(2) * r.Uint64(),
		}
		for range 1 + r.IntN(10) {
			b := record.Block{
				Size:  unit * (1 + r.Int64N(1<<r.IntN(20))),
				State: record.BlockState(r.IntN(3)),
			}
			for range 1 + r.IntN(3) {
				s.Blocks = append(s.Blocks, b)
				s.Size += b.Size
			}
		}
		m.Segments = append(m.Segments, s)
		switch address += uint64(s.Size); r.IntN(4) {
		case 0:
			address += uint64(r.IntN(100)) << 21
		case 1:
			address = r.Uint64()
		}
	}
	return m
}

var ignoreHeader = cmpopts.IgnoreFields(record.Header{}, "Pos", "Dialect")

// TestSegmentMapRoundTrip: a map that was written is read back unchanged, alone and with other
// lines between its parts. The records of these other lines stay the same.
func TestSegmentMapRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 40 {
		count := r.IntN(60)
		if i == 39 {
			count = 4000
		}
		m := randomMap(r, count)
		lines := strings.Split(string(segments.AppendLine(&m, nil)), "\n")
		for _, l := range lines {
			if len(l) > 12<<10 {
				t.Fatalf("got a line of %d bytes, which Docker's log would split", len(l))
			}
		}
		log := strings.Join(lines, "\n[GPU Memory] Peak: Allocated: 1.00GB\n") + "\n"
		checkpoints := 0
		var got *record.SegmentMap
		for rec := range records(t, []byte(log), "run.log") {
			switch rec := rec.(type) {
			case record.Checkpoint:
				checkpoints++
			case record.SegmentMap:
				if got != nil {
					t.Fatal("got a second map, want one")
				}
				got = &rec
			default:
				t.Fatalf("got %v, want a map or a checkpoint", rec)
			}
		}
		if checkpoints != len(lines)-1 {
			t.Fatalf("got %d checkpoints, want %d", checkpoints, len(lines)-1)
		}
		if diff := cmp.Diff(&m, got, ignoreHeader); diff != "" {
			t.Fatalf("%d (-written +read):\n%.4000s", i, diff)
		}
		if len(lines) == 1 {
			alone := (*parser.Set)(nil).ParseLine([]byte(lines[0]),
				record.Position{Path: "run.log", Line: 1})
			if len(alone) != 1 || !cmp.Equal(alone[0], record.Record(m), ignoreHeader) {
				t.Fatalf("the map alone: got %v", alone)
			}
		}
	}
}

// TestSegmentSums sums a map of four segments; the expected sums were computed by hand. In the
// first segment, 10 MiB in use pin 10 MiB of free memory. The second segment is free. The third
// is in the small pool. The fourth is expandable: its 50 MiB from 10 MiB on are free, and its
// pages of 20 MiB end at 20, 40 and 60 MiB, so that only 40 MiB can go back to the driver.
func TestSegmentSums(t *testing.T) {
	const mib = 1 << 20
	m := record.SegmentMap{Total: 200 * mib, Used: 100 * mib, Segments: []record.Segment{
		{
			Address: 0x7f0000000000,
			Size:    20 * mib,
			Blocks: []record.Block{
				{Size: 10 * mib, State: record.BlockAllocated},
				{Size: 10 * mib, State: record.BlockFree},
			},
		},
		{
			Address: 0x7f0002000000,
			Size:    8 * mib,
			Blocks:  []record.Block{{Size: 8 * mib, State: record.BlockFree}},
		},
		{
			Address: 0x7f0003000000,
			Size:    2 * mib,
			Small:   true,
			Blocks: []record.Block{
				{Size: mib, State: record.BlockPending},
				{Size: mib, State: record.BlockFree},
			},
		},
		{
			Address:    0x7f0004000000,
			Size:       60 * mib,
			Expandable: true,
			Blocks: []record.Block{
				{Size: 10 * mib, State: record.BlockAllocated},
				{Size: 50 * mib, State: record.BlockFree},
			},
		},
	}}
	want := record.SegmentSums{
		Reserved:    90 * mib,
		Allocated:   20 * mib,
		Pending:     mib,
		Free:        69 * mib,
		Releasable:  48 * mib,
		LargestFree: 50 * mib,
		Segments:    4,
		Blocks:      7,
	}
	if diff := cmp.Diff(want, m.Sums()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, ok := m.Unreserved(90 * mib); !ok || got != 100*mib {
		t.Errorf("unreserved: got %d, %t", got, ok)
	}
	m.Allowed = 110 * mib
	if got, ok := m.Unreserved(90 * mib); !ok || got != 20*mib {
		t.Errorf("unreserved under a memory limit: got %d, %t", got, ok)
	}
	if got, ok := (&record.SegmentMap{}).Unreserved(5); ok {
		t.Errorf("unreserved on an unknown card: got %d, want none", got)
	}
}

// TestSegmentMapsDisturbNothing: segment maps between a log's lines do not change the log's
// timeline. The timeline equals that of a log with a meaningless line in place of each map.
func TestSegmentMapsDisturbNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	m := randomMap(r, 400)
	m.Time, m.Requested = time.Time{}, 0 // a map with Requested would join a failure of the log
	maps := strings.Split(string(segments.AppendLine(&m, nil)), "\n")
	if len(maps) < 3 {
		t.Fatalf("the map has %d lines", len(maps))
	}
	var cases []string
	for _, pattern := range []string{"../../fixtures/parser/*.txtar", "../../fixtures/check/*.txtar"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("no cases: %v", err)
		}
		cases = append(cases, found...)
	}
	for _, path := range cases {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if !strings.HasSuffix(f.Name, ".log") || bytes.HasPrefix(f.Data, []byte("{")) {
				continue // its lines are not the program's lines, as in a notebook
			}
			var with, without strings.Builder
			for i, line := range strings.SplitAfter(string(f.Data), "\n") {
				if strings.Contains(line, record.MemoryPrefix) ||
					strings.HasPrefix(line, record.HarnessPrefix) {
					with.WriteString(maps[i%len(maps)] + "\n")
					without.WriteString("loading\n")
				}
				with.WriteString(line)
				without.WriteString(line)
			}
			build := func(log string) *timeline.Timeline {
				var b parser.Builder
				if err := b.Read(strings.NewReader(log), "run.log"); err != nil {
					t.Fatal(err)
				}
				return b.Timeline()
			}
			if got, want := build(with.String()), build(without.String()); !reflect.DeepEqual(want, got) {
				t.Errorf("%s, %s: maps change the timeline:\n%s", path, f.Name,
					cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true })))
			}
		}
	}
}

// TestSegmentMapsAreNotKept: a timeline keeps no maps. Parts of maps that are never completed
// take no more memory than maxPieces allows.
func TestSegmentMapsAreNotKept(t *testing.T) {
	var log bytes.Buffer
	for i := range 10_000 { // each map would have 400,000 blocks
		fmt.Fprintf(&log, "[pipeline] segments at=x device=0 rank=%d part=1/2 map=0L:A1*400000.\n", i)
	}
	tl, err := parser.Build(parser.Read(&log, "hostile.log"))
	if err != nil || len(tl.Bad) < 9_000 {
		t.Fatalf("got %d unreadable lines, %v", len(tl.Bad), err)
	}
}

// TestSegmentsOfAFailure: the map of a failed allocation is attached to the failure, whether the
// log has the map before or behind the failure's message. The two sizes are compared as PyTorch
// prints them: 29.99 MiB for 31,445,504 bytes. A map of another failure is not attached.
func TestSegmentsOfAFailure(t *testing.T) {
	line := func(requested int64) string {
		m := record.SegmentMap{Name: "out of memory", Requested: requested, Segments: []record.Segment{
			{
				Address: 1 << 21,
				Size:    1024,
				Blocks:  []record.Block{{Size: requested / 512 / 100 * 512, State: record.BlockFree}},
			},
		}}
		return string(segments.AppendLine(&m, nil)) + "\n"
	}
	message := func(size string) string {
		return "CUDA out of memory. Tried to allocate " + size +
			". GPU 0 has a total capacity of 1.00 GiB\n"
	}
	const asked, other = 31445504, 41943040
	for name, c := range map[string]struct {
		log  string
		want []int64 // the largest free block of each failure
	}{
		"behind": {message("29.99 MiB") + line(asked), []int64{314368}},
		"before": {line(asked) + "\n" + message("29.99 MiB"), []int64{314368}},
		"twice before": {
			line(asked) + message("29.99 MiB") + line(other) + message("40.00 MiB"),
			[]int64{314368, 419328},
		},
		"twice behind": {
			message("29.99 MiB") + line(asked) + message("40.00 MiB") + line(other),
			[]int64{314368, 419328},
		},
		"of another": {message("29.99 MiB") + line(other) + message("50.00 MiB"), []int64{0, 0}},
		"far before": {
			line(asked) + strings.Repeat("loading\n", 100) + message("29.99 MiB"),
			[]int64{0},
		},
		"one without": {
			message("29.99 MiB") + line(other) + message("40.00 MiB"),
			[]int64{0, 419328},
		},
		"no failure at it": {line(0) + message("29.99 MiB"), []int64{0}},
	} {
		tl, err := parser.Build(
			parser.Read(strings.NewReader("[pipeline] file-start path=a.wav\n"+c.log), "run.log"),
		)
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, o := range tl.Files[0].OOMs {
			largest := int64(0)
			if o.Held != nil {
				largest = o.Held.LargestFree
			}
			got = append(got, largest)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func FuzzSegments(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 10 {
		m := randomMap(r, 5)
		f.Add(string(segments.AppendLine(&m, nil)))
	}
	f.Add(
		"[pipeline] segments at=a device=0 part=1/2 unit=1 map=0L:A1*3;+0Sx@1:F1.\n" +
			"[pipeline] segments at=a device=0 part=2/2 map=&:P2;+1L:A1.",
	)
	f.Fuzz(func(t *testing.T, log string) {
		for rec := range records(t, []byte(log), "fuzz") {
			m, ok := rec.(record.SegmentMap)
			if !ok {
				continue
			}
			sums := m.Sums()
			if sums.Allocated+sums.Pending+sums.Free != sums.Reserved || sums.Releasable > sums.Free ||
				sums.LargestFree > sums.Free {
				t.Fatalf("%q: the sums %+v are impossible", log, sums)
			}
			for again := range records(t, segments.AppendLine(&m, nil), "fuzz") {
				if diff := cmp.Diff(record.Record(m), again, ignoreHeader); diff != "" {
					t.Fatalf("%q (-first +again):\n%s", log, diff)
				}
			}
		}
	})
}

// records returns the records of a log and fails the test if reading returns an error.
func records(t *testing.T, log []byte, name string) iter.Seq[record.Record] {
	return func(yield func(record.Record) bool) {
		for rec, err := range parser.Read(bytes.NewReader(log), name) {
			if err != nil {
				t.Fatal(err)
			}
			if !yield(rec) {
				return
			}
		}
	}
}
