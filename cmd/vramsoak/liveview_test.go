package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vramsoak/harness"
	"vramsoak/parser/record"
	"vramsoak/reports/sink"
)

const mebi = 1 << 20

// soaking is a soak of 60 files in which the level rises.
func soaking() harness.Progress {
	p := harness.Progress{
		Done: 23, Files: 60, Failed: 1, Left: 21 * time.Second, HasLeft: true, Restarts: 2,
		Current: "audio/0024.wav", Last: "audio/0023.wav", LastStatus: record.StatusFailed,
		Peak: 5 << 30, Total: 24 << 30,
	}
	for i := range int64(23) {
		p.Levels = append(p.Levels, (100+4*i)*mebi)
	}
	return p
}

var rising = []movement{
	{subject: "idle level", rate: "4.00 MiB/file"}, {subject: "host memory", rate: "1.50 MiB/file"},
}

// TestLiveView: the view at the widths of terminals. 23 of 60 files are 38 %.
func TestLiveView(t *testing.T) {
	t.Parallel()
	tests := []struct {
		columns int
		want    string
	}{
		{120, `
23/60 files, 1 failed  ███████████████░░░░░░░░░░░░░░░░░░░░░░░░░   38 %  left 0:21
level 188 MiB  ▁▁▁▂▂▂▃▃▃▄▄▅▅▅▆▆▆▇▇▇███  peak 5.00 GiB, 21 % of 24.0 GiB
growing:  idle level +4.00 MiB/file  host memory +1.50 MiB/file
now 0024.wav  last 0023.wav failed  2 restarts`},
		{80, `
23/60 files, 1 failed  ██████████████░░░░░░░░░░░░░░░░░░░░░░░░   38 %  left 0:21
level 188 MiB  ▁▁▁▂▂▂▃▃▃▄▄▅▅▅▆▆▆▇▇▇███  peak 5.00 GiB, 21 % of 24.0 GiB
growing:  idle level +4.00 MiB/file  host memory +1.50 MiB/file
now 0024.wav  last 0023.wav failed  2 restarts`},
		{60, `
23/60 files, 1 failed  ██████░░░░░░░░░░░░   38 %  left 0:21
level 188 MiB  ▁▁▁▂▂▂▃▃▃▄▄▅▅▅▆▆▆▇▇███  peak 5.00 GiB (21 %)
growing:  idle level +4.00 MiB/file
now 0024.wav  last 0023.wav failed  2 restarts`},
		{40, `
23/60 files, 1 failed   38 %  left 0:21
level 188 MiB  peak 5.00 GiB (21 %)
growing:  idle level +4.00 MiB/file
now 0024.wav  last 0023.wav failed`},
		{39, "\n23/60 files, 1 failed  left 0:21  002…"},
	}
	for _, test := range tests {
		got := "\n" + strings.Join(liveView(soaking(), rising, screen{columns: test.columns, rows: 24}),
			"\n")
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%d columns (-want +got):\n%s", test.columns, diff)
		}
	}
}

// TestLongFile: the view says how long a file takes that takes long.
func TestLongFile(t *testing.T) {
	t.Parallel()
	p := soaking()
	p.Working = 9 * time.Second
	rows := liveView(p, nil, screen{columns: 80})
	if !strings.HasPrefix(rows[2], "now 0024.wav  last") {
		t.Errorf("after 9 s: %q", rows[2])
	}
	p.Working = 3725 * time.Second
	want := "now 0024.wav 1:02:05  last 0023.wav failed  2 restarts"
	if rows := liveView(p, nil, screen{columns: 80}); rows[2] != want {
		t.Errorf("after an hour: %q, want %q", rows[2], want)
	}
	p.Workers = []harness.Progress{{GPU: 1, Current: "a.wav", Working: time.Minute}}
	if rows := liveView(p, nil, screen{columns: 80}); rows[1] != "GPU 1  a.wav 1:00" {
		t.Errorf("of a worker: %q", rows[1])
	}
}

// TestLiveViewOfWorkers: each GPU has a row, as far as the screen has room.
func TestLiveViewOfWorkers(t *testing.T) {
	t.Parallel()
	p := soaking()
	p.Levels, p.Failed, p.Current, p.Last, p.Restarts = nil, 0, "", "", 0
	for gpu := range 4 {
		w := harness.Progress{GPU: gpu, Current: "audio/0024.wav", Peak: 5 << 30, Total: 24 << 30}
		for i := range int64(12) {
			w.Levels = append(w.Levels, (100+i)*mebi)
		}
		p.Workers = append(p.Workers, w)
	}
	want := `
23/60 files  ███████████████░░░░░░░░░░░░░░░░░░░░░░░░░   38 %  left 0:21
GPU 0   111 MiB  ▁▁▂▃▃▄▅▆▆▇██  peak  21 %  0024.wav
GPU 1   111 MiB  ▁▁▂▃▃▄▅▆▆▇██  peak  21 %  0024.wav
GPU 2   111 MiB  ▁▁▂▃▃▄▅▆▆▇██  peak  21 %  0024.wav
GPU 3   111 MiB  ▁▁▂▃▃▄▅▆▆▇██  peak  21 %  0024.wav`
	got := "\n" + strings.Join(liveView(p, nil, screen{columns: 80, rows: 24}), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	rows := liveView(p, nil, screen{columns: 80, rows: 8})
	if len(rows) != 4 || rows[3] != "and 2 more GPUs" {
		t.Errorf("on 8 rows: %q", rows)
	}
}

// TestLiveViewASCII: without UTF-8 in the locale, every letter is ASCII. With colours, the rows are
// as wide as without.
func TestLiveViewASCII(t *testing.T) {
	t.Parallel()
	p := soaking()
	p.Current = "audio/größe.wav"
	want := `
23/60 files, 1 failed  ##############------------------------   38 %  left 0:21
level 188 MiB  ___...---::===+++***###  peak 5.00 GiB, 21 % of 24.0 GiB
growing:  idle level +4.00 MiB/file  host memory +1.50 MiB/file
now gr??e.wav  last 0023.wav failed  2 restarts`
	got := "\n" + strings.Join(liveView(p, rising, screen{columns: 80, ascii: true}), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	colored := strings.Join(liveView(p, rising, screen{columns: 80, ascii: true, color: true}), "\n")
	for _, style := range []string{styleRed, styleGreen, styleYellow, styleOff} {
		if !strings.Contains(colored, style) {
			t.Errorf("no style %q", style)
		}
		colored = strings.ReplaceAll(colored, style, "")
	}
	if diff := cmp.Diff(want, "\n"+colored); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLiveViewFits: no row fills the terminal, whatever the names, so that none wraps.
func TestLiveViewFits(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", strings.Repeat("日本語", 50) + ".wav", "a\nb\x1b[2J", ""} {
		for columns := 1; columns < 200; columns++ {
			for workers := range 3 {
				p := soaking()
				p.Current, p.Last = name, name
				p.Done, p.Files = 123_456, 1_000_000
				for gpu := range workers {
					w := soaking()
					w.GPU, w.Current = gpu, name
					p.Workers = append(p.Workers, w)
				}
				for _, s := range []screen{
					{columns: columns, rows: 24, color: true},
					{columns: columns, rows: 3},
					{columns: columns, rows: 24, ascii: true},
					{columns: columns, simple: true},
				} {
					rows := liveView(p, rising, s)
					if len(rows) > 1 && len(rows) >= s.rows {
						t.Fatalf("%d rows on a screen of %d", len(rows), s.rows)
					}
					for _, row := range rows {
						if sink.Columns(row) >= columns || strings.Contains(row, "\n") {
							t.Fatalf("%d columns: %q has %d", columns, row, sink.Columns(row))
						}
					}
				}
			}
		}
	}
}

func TestSpark(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values  []int64
		columns int
		want    string
	}{
		{[]int64{0, 1, 2, 3, 4, 5, 6, 7}, 40, "▁▂▃▄▅▆▇█"},
		{[]int64{0, 0, 7, 7}, 2, "▁█"}, // means of two
		{[]int64{5, 5, 5}, 8, "▁▁▁"},
		{[]int64{0, 0}, 8, "▁▁"},
		{[]int64{1000, 1001, 1000}, 8, "▁▁▁"}, // noise of 0.1 %
	} {
		if got := (screen{}).spark(c.values, c.columns); got != c.want {
			t.Errorf("%v: %s, want %s", c.values, got, c.want)
		}
	}
}

func TestSpeaksUTF8(t *testing.T) { // not parallel: it sets variables
	for _, c := range []struct {
		all, ctype, lang string
		want             bool
	}{
		{"", "", "en_US.UTF-8", true},
		{"", "", "C.utf8", true},
		{"C", "", "en_US.UTF-8", false},
		{"", "de_DE.ISO-8859-1", "en_US.UTF-8", false},
		{"", "", "", false},
	} {
		t.Setenv("LC_ALL", c.all)
		t.Setenv("LC_CTYPE", c.ctype)
		t.Setenv("LANG", c.lang)
		if got := speaksUTF8(); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}
