package fragmentation

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"vramsoak/fixtures/timelines"
	"vramsoak/parser/record"
	"vramsoak/reports/plots"
)

// A segmentsCase describes a log of several files. At the end of each file, the log has a map of
// the allocator's segments of 20 MiB. From file 2 on, each file leaves one more segment, in which
// `keep` bytes stay in use and the rest is free.
type segmentsCase struct {
	files, total int   // total is the size of the card in MiB
	keep         int64 // in bytes
	whole        int   // number of segments at each file's end that are wholly free
	fails        []int // files in which an allocation fails
	asked        int64 // the size of that allocation in MiB; 0 is 30
	lane         record.Lane
	nameless     bool // the log names no files
}

// picture returns the maps of the log.
func (c segmentsCase) picture() *Maps {
	var f Maps
	for rec := range c.records() {
		f.Add(rec)
	}
	return &f
}

func (c segmentsCase) records() func(yield func(record.Record) bool) {
	const mib = 1 << 20
	return func(yield func(record.Record) bool) {
		m := record.SegmentMap{Lane: c.lane, Name: "file end", Total: int64(c.total) * mib}
		block := func(size int64, state record.BlockState) record.Block {
			return record.Block{Size: size, State: state}
		}
		add := func(blocks ...record.Block) {
			m.Segments = append(m.Segments,
				record.Segment{
					Address: uint64(len(m.Segments)+1) * 20 * mib, Size: 20 * mib,
					Blocks: blocks,
				})
		}
		add(block(20*mib, record.BlockAllocated))
		for i := range c.files {
			if !c.nameless && !yield(record.FileStart{
				Pipeline: true,
				Path:     fmt.Sprintf("%d.wav", i+1),
			}) {
				return
			}
			for _, file := range c.fails {
				if failed := m; file == i+1 {
					failed.Name, failed.Requested = "out of memory", cmp.Or(c.asked, 30)*mib
					if !yield(failed) {
						return
					}
				}
			}
			if i > 0 && len(m.Segments)*20 < c.total-20-20*c.whole {
				add(block(8*mib, record.BlockFree), block(c.keep, record.BlockAllocated),
					block(12*mib-c.keep, record.BlockFree))
			}
			end := m
			for range c.whole {
				m.Segments = slices.Clip(m.Segments)
				add(block(20*mib, record.BlockFree))
			}
			if end.Segments, m.Segments = m.Segments, end.Segments; !yield(end) {
				return
			}
		}
	}
}

// TestFragmentationTitle compares titles with numbers that were computed by hand. On a card of 100
// MiB, 80 are reserved in file 5: 20 by the segment that stays, and 60 in three segments with 512
// bytes in use. Their largest free pieces are 12 MiB less 512 B. The driver has 20 MiB, which is
// the largest piece.
func TestFragmentationTitle(t *testing.T) {
	for _, c := range []struct {
		name string
		segmentsCase
		title, subtitle string
	}{
		{
			"out of memory",
			segmentsCase{files: 8, total: 100, keep: 512, fails: []int{5, 7}},
			"Out of memory in file 5: asked for 30.0 MiB; 80.0 MiB free in sum, 20.0 MiB in one " +
				"piece",
			"8 files, 10 segment maps; reserved up to 80.0 MiB of 100 MiB; 2 allocations failed, " +
				"the first one is shown",
		},
		{
			"too little",
			segmentsCase{files: 5, total: 100, keep: 11 << 20, fails: []int{5}},
			"Out of memory in file 5: asked for 30.0 MiB; 47.0 MiB free in sum, 20.0 MiB in one " +
				"piece",
			"5 files, 6 segment maps; reserved up to 80.0 MiB of 100 MiB",
		},
		{
			"far too little",
			segmentsCase{files: 2, total: 40, fails: []int{2}},
			"Out of memory in file 2: asked for 30.0 MiB; 20.0 MiB free in sum, too little",
			"2 files, 3 segment maps; reserved up to 20.0 MiB of 40.0 MiB",
		},
		{
			"in one piece",
			segmentsCase{files: 3, total: 1000, keep: 512, fails: []int{3}},
			"Out of memory in file 3: asked for 30.0 MiB; 980 MiB free in sum, 960 MiB in one " +
				"piece, which should have been enough",
			"3 files, 4 segment maps; reserved up to 60.0 MiB of 1000 MiB",
		},
		{
			"nothing failed",
			segmentsCase{files: 3, total: 100, keep: 512},
			"No allocation failed; at the worst moment, 80.0 MiB were free in sum, 40.0 MiB in one " +
				"piece (file 3)",
			"3 files, 3 segment maps; reserved up to 60.0 MiB of 100 MiB",
		},
		{
			"nothing in pieces",
			segmentsCase{files: 1, total: 100, whole: 2},
			"No allocation failed; all free memory was in one piece",
			"1 file, 1 segment map; reserved up to 60.0 MiB of 100 MiB",
		},
		{
			"no files",
			segmentsCase{files: 5, total: 100, keep: 512, nameless: true, fails: []int{5}},
			"Out of memory in segment map 5: asked for 30.0 MiB; 80.0 MiB free in sum, 20.0 MiB " +
				"in one piece",
			"6 segment maps; reserved up to 80.0 MiB of 100 MiB",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := c.picture()
			p := newPicture(f, f.shown())
			title, _ := p.title()
			if diff := gocmp.Diff([]string{c.title, c.subtitle},
				[]string{title, p.subtitle()}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var out bytes.Buffer
			if err := f.Plot(&out, "svg", plots.Options{Width: 600, Height: 360}); err != nil {
				t.Fatal(err)
			}
			var words []string
			for _, m := range regexp.MustCompile(`>([^<>]+)</text>`).FindAllStringSubmatch(
				out.String(), -1) {
				words = append(words, m[1])
			}
			if !strings.Contains(strings.Join(words, " "), title) {
				t.Errorf("the lowest picture cuts the title: %q", words)
			}
		})
	}
}

// TestFragmentationBeforeFiles: maps that a pipeline prints before it names its first file belong
// before that file, not to a file of their own.
func TestFragmentationBeforeFiles(t *testing.T) {
	c := segmentsCase{files: 8, total: 100, keep: 512, fails: []int{5}}
	var f Maps
	for _, name := range []string{
		"Before Optimizer", "After Optimizer", "Before Optimizer",
		"After Optimizer",
	} {
		f.Add(record.Checkpoint{Name: name})
		for rec := range (segmentsCase{files: 1, total: 100, nameless: true}).records() {
			f.Add(rec)
		}
	}
	for rec := range c.records() {
		f.Add(rec)
	}
	p := newPicture(&f, f.shown())
	title, _ := p.title()
	got := []string{title, p.subtitle()}
	want := []string{
		"Out of memory in file 5: asked for 30.0 MiB; 80.0 MiB free in sum, 20.0 MiB in one piece",
		"8 files, 13 segment maps; reserved up to 80.0 MiB of 100 MiB",
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if from, to := p.ends(); from != 0 || to != 8 {
		t.Errorf("the axis goes from %g to %g, want 0 to 8", from, to)
	}
}

// TestFragmentationPlot: each use of memory is drawn in its colour and at its place, and nothing is
// cut off at the edges. PLOTS=DIR keeps the pictures for a person to look at.
func TestFragmentationPlot(t *testing.T) {
	for name, c := range map[string]segmentsCase{
		"fragmentation-60": {
			files: 60, total: 1200, keep: 1 << 20, whole: 3,
			fails: []int{57, 59}, asked: 200,
		},
		"fragmentation-700":   {files: 700, total: 9000, keep: 512, fails: []int{600}},
		"fragmentation-steps": {files: 9, total: 300, keep: 5 << 20, nameless: true},
	} {
		t.Run(name, func(t *testing.T) {
			size := plots.Options{Width: 600, Height: 400}
			if os.Getenv("PLOTS") != "" {
				size = plots.Options{}
			}
			f := c.picture()
			var out bytes.Buffer
			if err := f.Plot(&out, "png", size); err != nil {
				t.Fatal(err)
			}
			if dir := os.Getenv("PLOTS"); dir != "" {
				if err := os.WriteFile(filepath.Join(dir, name+".png"), out.Bytes(),
					0o644); err != nil {
					t.Fatal(err)
				}
			}
			img, err := png.Decode(&out)
			if err != nil {
				t.Fatal(err)
			}
			pixels := map[color.NRGBA]int{}
			b := img.Bounds()
			for y := range b.Dy() {
				for x := range b.Dx() {
					ink := color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)
					pixels[ink]++
					if edge := x == 0 || y == 0 || x == b.Dx()-1 ||
						y == b.Dy()-1; edge && ink != voidColor {
						t.Fatalf("the edge of the picture cuts something off at %d, %d", x, y)
					}
				}
			}
			for use, want := range map[int]bool{
				inUse: true, pinned: c.files > 1,
				releasable: c.whole > 0,
			} {
				if n := pixels[useColors[use]]; want && n < 200 {
					t.Errorf("%s: %d pixels", useNames[use], n)
				}
			}
			if n := pixels[plots.FailedColor]; (n > 100) != (len(c.fails) > 0) {
				t.Errorf("%d pixels for %d failed allocations", n, len(c.fails))
			}
		})
	}
}

// TestFragmentationIsDeterministic: in each format, the same records give the same bytes, at most
// 400 KiB.
func TestFragmentationIsDeterministic(t *testing.T) {
	for _, format := range plots.Formats {
		var first, second bytes.Buffer
		for _, out := range []*bytes.Buffer{&first, &second} {
			c := segmentsCase{files: 40, total: 900, keep: 512, fails: []int{39}}
			if err := c.picture().Plot(out, format,
				plots.Options{Width: 600, Height: 360}); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%s: two plots of the same input differ", format)
		}
		if first.Len() > 400<<10 {
			t.Errorf("%s: %d bytes", format, first.Len())
		}
		if format == "svg" {
			timelines.WellFormedXML(t, first.Bytes())
		}
	}
}

// TestFragmentationIsThinned: a long run keeps only as many frames as a picture has room for. It
// does not lose the one failed allocation, nor the extreme values that a picture needs.
func TestFragmentationIsThinned(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var f Maps
	value := func(fr *frame) [4]int64 {
		return [4]int64{fr.sums.Reserved, fr.free(), fr.piece(), fr.stranded()}
	}
	var low, high [4]int64
	fails := 1401
	for i := range 2000 {
		f.Add(record.FileStart{Pipeline: true, Path: fmt.Sprint(i)})
		m := record.SegmentMap{Name: "file end", Total: 1 << 40}
		for k := range 1 + r.IntN(8) {
			size := r.Int64N(1 << 30)
			m.Segments = append(m.Segments, record.Segment{
				Address: uint64(k) << 40,
				Size:    2*size + 512, Blocks: []record.Block{
					{Size: size, State: record.BlockFree},
					{Size: 512, State: record.BlockAllocated},
					{Size: size, State: record.BlockFree},
				},
			})
		}
		if i == fails {
			m.Requested = 5
		}
		f.Add(m)
		lane := f.lanes[record.Lane{}]
		if len(lane.frames) >= framesMax {
			t.Fatalf("got %d frames", len(lane.frames))
		}
		now := lane.frames[len(lane.frames)-1]
		for k, v := range value(now) {
			if i == 0 {
				low[k], high[k] = v, v
			}
			low[k], high[k] = min(low[k], v), max(high[k], v)
		}
	}
	lane := f.lanes[record.Lane{}]
	var keptLow, keptHigh [4]int64
	for i, fr := range lane.frames {
		for k, v := range value(fr) {
			if i == 0 {
				keptLow[k], keptHigh[k] = v, v
			}
			keptLow[k], keptHigh[k] = min(keptLow[k], v), max(keptHigh[k], v)
		}
		if i > 0 && fr.number <= lane.frames[i-1].number || len(fr.bands) > 4*bandsMax {
			t.Fatalf("frame %d after %d, of %d bands", fr.number, lane.frames[i-1].number,
				len(fr.bands))
		}
	}
	// A picture does not need the frames with the least reserved or the least stranded memory.
	low[0], low[3] = keptLow[0], keptLow[3]
	if low != keptLow || high != keptHigh {
		t.Errorf("from %v to %v, kept from %v to %v", low, high, keptLow, keptHigh)
	}
	if moment := lane.moment(); moment.of.file != fails+1 || lane.failures != 1 {
		t.Errorf("the moment is of file %d, %d failures", moment.of.file, lane.failures)
	}
}

// TestFragmentationShown: if a log has several devices, Plot draws the one with a failed
// allocation. For a log without maps, the error says how to get some.
func TestFragmentationShown(t *testing.T) {
	var f Maps
	for _, c := range []segmentsCase{
		{files: 3, total: 1000, lane: record.Lane{Device: 0}},
		{files: 2, total: 100, lane: record.Lane{Device: 1}, fails: []int{1}},
		{files: 9, total: 1000, lane: record.Lane{Device: 2}},
	} {
		for rec := range c.records() {
			f.Add(rec)
		}
	}
	if got := f.shown().lane.Device; got != 1 {
		t.Errorf("got a plot of device %d", got)
	}
	for i := range 100 {
		f.Add(record.SegmentMap{Lane: record.Lane{Device: i}})
	}
	p := newPicture(&f, f.shown())
	if len(f.lanes) != lanesMax || !strings.Contains(strings.Join(p.notes, "\n"),
		"The picture shows device 1 of more than 8 devices.") {
		t.Errorf("%d devices are kept: %v", len(f.lanes), p.notes)
	}
	if err := new(Maps).Plot(new(bytes.Buffer), "png", plots.Options{}); !errors.Is(err,
		ErrNoSegments) {
		t.Errorf("without maps: %v", err)
	}
}

// TestFragmentationOfAnything: Plot draws maps with any numbers without an error.
func TestFragmentationOfAnything(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 4 {
		var f Maps
		for range r.IntN(6) + 1 {
			if r.IntN(3) == 0 {
				f.Add(record.FileStart{
					Index: r.IntN(5), Pipeline: r.IntN(2) == 0,
					Path: fmt.Sprint(r.IntN(3)),
				})
			}
			m := record.SegmentMap{
				Total: r.Int64N(1 << r.IntN(62)),
				Used:  r.Int64N(1 << r.IntN(62)), Requested: r.Int64N(2) * r.Int64N(1<<r.IntN(62)),
			}
			for range r.IntN(4) {
				s := record.Segment{
					Address: r.Uint64(), Small: r.IntN(2) == 0,
					Expandable: r.IntN(2) == 0,
				}
				for range r.IntN(3) {
					b := record.Block{
						Size:  1 + r.Int64N(1<<r.IntN(58)),
						State: record.BlockState(r.IntN(3)),
					}
					s.Blocks, s.Size = append(s.Blocks, b), s.Size+b.Size
				}
				m.Segments = append(m.Segments, s)
			}
			f.Add(m)
		}
		if err := f.Plot(new(bytes.Buffer), "png",
			plots.Options{Width: 600, Height: 360}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTableIsWhole: the names in the table are whole in a narrow picture. A long name takes two
// lines.
func TestTableIsWhole(t *testing.T) {
	cut := regexp.MustCompile(`>((free|not)[^<]*\.\.\.)<`)
	full := segmentsCase{files: 60, total: 1200, keep: 1 << 20, whole: 3, fails: []int{57}}
	for _, width := range []int{600, 800} {
		var out bytes.Buffer
		if err := full.picture().Plot(&out, "svg", plots.Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		for _, m := range cut.FindAllStringSubmatch(out.String(), -1) {
			t.Errorf("%d pixels: %q is cut", width, m[1])
		}
	}
}
