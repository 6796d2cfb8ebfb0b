package memory

import (
	"bytes"
	"fmt"
	"image/color"
	"image/png"
	"strings"
	"testing"

	"vramsoak/fixtures/timelines"
	"vramsoak/harness/check"
	"vramsoak/reports/plots"
)

// oomLog returns the log of a batch in which memory runs out in each of some files. The rest of the
// parameters say how such a file ends.
func oomLog(files int, status string, at ...int) string {
	var log strings.Builder
	for i := 1; i <= files; i++ {
		_, _ = fmt.Fprintf(&log, "[pipeline] file-start path=%04d.wav\n"+
			"[GPU Memory] Before Whisper Cleanup: Allocated: 7.00GB | Total: 24.00GB\n", i)
		end := "ok"
		for _, n := range at {
			if n == i {
				end = status
				_, _ = fmt.Fprintln(&log, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate "+
					"2.00 GiB. GPU 0 has a total capacity of 24.00 GiB of which 1.10 GiB is free.")
			}
		}
		_, _ = fmt.Fprintf(&log, "[GPU Memory] After Whisper Cleanup: Allocated: 1.00GB | "+
			"Total: 24.00GB\n[pipeline] file-end path=%04d.wav status=%s\n", i, end)
	}
	return log.String()
}

// TestOutOfMemoryIsMarked: the mark of an allocation that failed goes over the whole height, and
// says in which file memory ran out.
func TestOutOfMemoryIsMarked(t *testing.T) {
	for _, c := range []struct {
		log  string
		want string
		not  string
	}{
		{
			oomLog(60, "oom", 57),
			"out of memory in file 57: 0057.wav, asked for 2.00 GiB", "out of memory, recovered",
		},
		{
			oomLog(60, "ok", 3, 4),
			"out of memory, recovered in file 3: 0003.wav, and 1 more", "out of memory",
		},
		{
			oomLog(2000, "oom", 700, 800, 1900),
			"out of memory in file 700: 0700.wav, and 2 more", "",
		},
		{
			strings.Replace(oomLog(9, "ok"), "9.wav status=ok", "9.wav status=oom", 1),
			"out of memory in file 9: 0009.wav", "",
		},
		{oomLog(20, "ok"), "highest allocated", "out of memory"},
	} {
		tl, rep := timelines.Judge(t, c.log, check.DefaultPolicy())
		for _, size := range []plots.Options{{Width: 600, Height: 360}, {}} {
			got := "\n" + strings.Join(words(t, tl, rep, size), "\n") + "\n"
			if !strings.Contains(got, c.want) || c.not != "" && strings.Contains(got, "\n"+c.not+"\n") {
				t.Errorf("%+v: the plot lacks %q or has %q:\n%s", size, c.want, c.not, got)
			}
		}
	}
}

// TestOutOfMemoryAtTheEnd: a mark after the last checkpoint of a log without times lies within the
// data, and not over the words to the right of it.
func TestOutOfMemoryAtTheEnd(t *testing.T) {
	log, _, _ := strings.Cut(oomLog(57, "oom", 57), "[GPU Memory] Before Whisper Cleanup: Allocated: "+
		"7.00GB | Total: 24.00GB\ntorch")
	log += "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
	tl, rep := timelines.Judge(t, log, check.DefaultPolicy())
	var out bytes.Buffer
	if err := plotOf(&out, "png", tl, rep, plots.Options{}); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&out)
	if err != nil {
		t.Fatal(err)
	}
	mark, axis, longest := 0, 0, 0
	for x := range 1600 {
		if img.At(x, 500) == color.Color(color.RGBA(plots.FailedColor)) {
			mark = x
		}
	}
	for y := 700; y < 900; y++ { // the x axis is the row with the most pixels of ink
		n, last := 0, 0
		for x := range 1600 {
			if r, _, _, _ := img.At(x, y).RGBA(); r < 0xB000 {
				n, last = n+1, x
			}
		}
		if n > longest {
			longest, axis = n, last
		}
	}
	const width = 4 // of the mark
	if mark == 0 || mark > axis+width {
		t.Errorf("the mark is at %d, and the axis ends at %d", mark, axis)
	}
}

// TestOutOfMemoryIsSeen: the mark is a line of 4 pixels over nearly all of the plot's height.
func TestOutOfMemoryIsSeen(t *testing.T) {
	tl, rep := timelines.Judge(t, oomLog(60, "oom", 57), check.DefaultPolicy())
	var out bytes.Buffer
	if err := plotOf(&out, "png", tl, rep, plots.Options{}); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&out)
	if err != nil {
		t.Fatal(err)
	}
	columns := 0 // columns of pixels with at least 600 pixels of the mark
	for x := range 1600 {
		n := 0
		for y := range 900 {
			if img.At(x, y) == color.Color(color.RGBA(plots.FailedColor)) {
				n++
			}
		}
		if n >= 600 {
			columns++
		}
	}
	if columns < 3 {
		t.Errorf("%d columns of pixels show the mark, want at least 3", columns)
	}
}
