package profile_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser"
	"vramsoak/parser/record"
	"vramsoak/pipeline/profile"
	"vramsoak/pipeline/scenario"
)

const (
	mib = int64(1) << 20
	gib = int64(1) << 30
)

// A batch makes a log with one stage. 100 MiB are always allocated. The stage takes 1 GiB more, and
// 2 MiB per second of audio. It keeps 64,000 bytes per second until the file ends, and reserves a
// quarter more than it allocates. The driver reports 480 MiB more than is reserved.
type batch struct {
	seconds []int
	extra   map[int]int64 // additional bytes, by the file's number from 1
	growth  int64         // bytes more, with each file, that are always in use
	// peaks says what peak= means. "": lines have no peak=; "reset": the peak since the last
	// checkpoint; "ever": the peak since the process began.
	peaks string
}

func (b batch) log() string {
	var s strings.Builder
	s.WriteString("[vramsoak] run-start time=2026-01-01T00:00:00.000Z files=" +
		fmt.Sprint(len(b.seconds)) + " feed=list command=x\n")
	clock, ever := 0, int64(0)
	line := func(name string, allocated, peak int64) {
		ever = max(ever, peak)
		reserved := allocated + allocated/4
		told := ""
		switch b.peaks {
		case "reset":
			told = fmt.Sprintf(" peak=%d", peak)
		case "ever":
			told = fmt.Sprintf(" peak=%d", ever)
		}
		fmt.Fprintf(&s, "2026-01-01T00:%02d:%02d.000Z [GPU Memory] %s: Allocated: %.2fGB | "+
			"allocated=%d reserved=%d used=%d total=%d%s device=0\n",
			clock/60%60, clock%60, name, float64(allocated)/float64(gib), allocated, reserved,
			reserved+480*mib, 16*gib, told)
	}
	for i, seconds := range b.seconds {
		idle := 100*mib + b.growth*int64(i)
		top := idle + gib + 2*mib*int64(seconds) + b.extra[i+1]
		kept := idle + 64000*int64(seconds)
		fmt.Fprintf(&s, "[vramsoak] file-start time=2026-01-01T00:%02d:%02d.000Z index=%d "+
			"path=%d.wav audio_seconds=%d\n", clock/60%60, clock%60, i+1, i+1, seconds)
		line("Pipeline Initialization", idle, idle)
		line("Before Transcription", idle, idle)
		clock += seconds / 10
		if b.peaks == "" {
			line("Before Whisper Cleanup", top, top)
		}
		line("After Transcription (post-cleanup)", kept, top)
		line("Before Alignment", kept, kept)
		line("After Alignment", kept, kept)
		line("Before Final Cleanup", kept, kept)
		line("After Final Cleanup", idle, kept)
		fmt.Fprintf(&s, "[vramsoak] file-end time=2026-01-01T00:%02d:%02d.000Z index=%d "+
			"status=ok seconds=%d\n", clock/60%60, clock%60, i+1, seconds/10)
	}
	return s.String()
}

func learn(t *testing.T, log string) *profile.Profile {
	t.Helper()
	tl, err := parser.Build(parser.Read(strings.NewReader(log), "soak.log"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.Learn(tl)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestLearn(t *testing.T) {
	lengths := []int{60, 120, 300, 180, 240, 90, 150, 270, 210}
	for _, peaks := range []string{"", "reset", "ever"} {
		t.Run("peak="+peaks, func(t *testing.T) {
			p := learn(t, batch{
				seconds: lengths, extra: map[int]int64{3: 512 * mib},
				peaks: peaks,
			}.log())
			got := p.Stages[0]
			// Reserved is the largest reserved divided by the largest allocated memory. If peak=
			// gives the largest allocated memory, the level at a checkpoint does not matter.
			want := profile.Stage{
				Name: "Transcription", Files: 9, Base: gib, PerSecond: float64(2 * mib),
				Spread: 512 * mib,
				Peak:   gib + 300*2*mib + 512*mib, KeptPerSecond: 64000, Reserved: 1.25,
				Seconds:  0.1,
				Shortest: 90, Longest: 300, // the first is left out
			}
			if peaks == "reset" {
				want.Reserved = 1
			}
			// The peak of the longest file hides the peaks of the files after it, so only two files
			// count besides the first.
			if peaks == "ever" {
				want.Shortest = 120
				want.Base, want.PerSecond = gib+(120+300)*mib+256*mib, 0
				want.Spread, want.KeptPerSecond, want.Kept = gib+600*mib+512*mib-want.Base,
					got.KeptPerSecond, got.Kept
				want.Note = "2 files are too few for a slope over their length, it takes 5"
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("stage (-want +got):\n%s", diff)
			}
			if p.Context != 480*mib || p.Contexts != 9 || p.Total != 16*gib ||
				p.Resident != 100*mib || p.Growth != 0 || p.Files != 9 {
				t.Errorf("got %+v", p)
			}
		})
	}
}

func TestLearnGrowth(t *testing.T) {
	p := learn(t, batch{
		seconds: []int{60, 60, 60, 60, 60, 60, 60, 60, 60, 60},
		growth:  4 * mib,
	}.log())
	if p.Growth != 4*mib {
		t.Errorf("got a growth of %d a file, want %d", p.Growth, 4*mib)
	}
	st := p.Stages[0]
	if st.Base != gib+120*mib || st.PerSecond != 0 || !strings.Contains(st.Note,
		"do not vary enough") {
		t.Errorf("got %+v", st)
	}
}

func TestLearnNothing(t *testing.T) {
	for _, c := range []struct{ name, log, want string }{
		{"no files", "nothing\n", "expected files that ended ok, found none"},
		{"failed", strings.ReplaceAll(batch{seconds: []int{60}}.log(), "status=ok",
			"status=crashed"), "expected files that ended ok, found none"},
		{
			"no stages", strings.ReplaceAll(batch{seconds: []int{60}}.log(), "After", "At"),
			"expected stages, pairs of checkpoints",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			tl, err := parser.Build(parser.Read(strings.NewReader(c.log), "soak.log"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := profile.Learn(tl); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// TestLearnNativeRun learns from a run of the native pipeline. The pipeline keeps a file's
// waveform, 16,000 samples of four bytes per second, until the final cleanup. Its Whisper model and
// buffers take 572 MiB.
func TestLearnNativeRun(t *testing.T) {
	log, err := os.ReadFile("testdata/native.log")
	if err != nil {
		t.Fatal(err)
	}
	p := learn(t, string(log))
	if len(p.Stages) != 4 || p.Files != 8 {
		t.Fatalf("got %+v", p)
	}
	audio, whisper := p.Stages[0], p.Stages[1]
	if audio.PerSecond != 16000*4 || audio.KeptPerSecond != 16000*4 || audio.Spread != 0 {
		t.Errorf("Audio Preprocessing: got %+v", audio)
	}
	// holds= of the first file, which is 9.34 s long, says 600,931,696 bytes.
	if got := whisper.Base + int64(whisper.PerSecond*9.34); got < 600931696-whisper.Spread ||
		got > 600931696+whisper.Spread {
		t.Errorf("Transcription: got %+v", whisper)
	}
	if p.Contexts != 0 {
		t.Errorf("got a context of %d, but the log has no device", p.Context)
	}
}

func TestWriteRead(t *testing.T) {
	want := learn(t, batch{seconds: []int{60, 120, 300, 180, 240, 90}, growth: 0}.log())
	want.Stages[1].Note = `a "note": of one line`
	var b bytes.Buffer
	if err := want.Write(&b); err != nil {
		t.Fatal(err)
	}
	got, err := profile.Read(b.Bytes(), "profile.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("profile (-written +read):\n%s\n%s", diff, b.String())
	}
}

func TestReadMistakes(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"empty", "", "profile.yaml:1:1: expected a profile, schema: vramsoak.profile/1, found " +
			"an empty file; vramsoak profile RUN -o profile.yaml writes one"},
		{
			"another file", "stages: [{name: A}]\n",
			`profile.yaml:1:1: expected schema: vramsoak.profile/1, found "stages: [{name: A}]"; is this a profile that vramsoak profile wrote?`,
		},
		{
			"several", "schema: vramsoak.profile/2\nfiles: 0\ngpu: {context: 480}\nstages:\n  - " +
				"{base: 1GiB}\n  - {name: A, per_second: -1, bse: 1GiB}\n  - {name: A}\n",
			`profile.yaml:1:9: expected one of vramsoak.profile/1 (did you mean "vramsoak.profile/1"?), found "vramsoak.profile/2"
profile.yaml:2:8: expected a whole number of 1 or more, found "0"
profile.yaml:3:16: expected a size with its unit, found "480"; write 480MiB, or 480B if it is so few bytes
profile.yaml:5:5: expected a name for the stage, found "{base: 1GiB}"
profile.yaml:6:27: expected a number of 0 or more, found "-1"
profile.yaml:6:31: expected one of the keys audio, base, files, kept, kept_per_second, name, note, peak, per_second, reserved, seconds, spread (did you mean "base"?), found "bse"
profile.yaml:7:12: expected a name that no other stage has, found "A"`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := profile.Read([]byte(c.src), "profile.yaml")
			if err == nil {
				t.Fatal("got no error")
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestApply(t *testing.T) {
	s, err := scenario.Read([]byte(`gpu: 16GiB
files: {count: 10, seconds: 60-600}
models: [{id: asr, weights: 1GiB}]
stages:
  - name: Transcription
    models: [asr]
    tensors: [{name: t, size: seconds * MiB}]
  - name: Diarization
    tensors: [{name: u, size: 1GiB, each: pass}]
    items: 10
    batch: 5
`), "p.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p := learn(t, batch{
		seconds: []int{60, 120, 300, 180, 240, 90, 150, 270, 210},
		growth:  mib,
	}.log())
	got := p.Apply(s)
	// Transcription: measured 1 GiB + 2 MiB * 600 s, estimated 1 GiB + 1 MiB * 600 s. Diarization
	// makes two passes and keeps the memory of one.
	want := []profile.Comparison{
		{
			Stage: "Transcription", Used: profile.Measured, Seconds: 600, Measured: gib + 1200*mib,
			Estimated: gib + 600*mib,
			AtMost:    gib + 1200*mib, Ratio: 2224.0 / 1624.0,
			Note: "files of 600 s, measured up to 300 s: the line is drawn on",
		},
		{
			Stage: "Diarization", Used: profile.Estimated, Seconds: 600, Estimated: gib,
			Note: "the profile has no such stage",
		},
		{
			Stage: "Alignment", Used: profile.Unused, Seconds: 600,
			Note: "the scenario has no such stage",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("comparisons (-want +got):\n%s", diff)
	}
	footprint := scenario.Footprint{
		Base: gib, PerSecond: float64(2 * mib), KeptPerSecond: 64000,
		Reserved: 1.25,
	}
	if diff := cmp.Diff(&footprint, s.Stages[0].Footprint); diff != "" {
		t.Errorf("footprint (-want +got):\n%s", diff)
	}
	if got := s.Stages[0].Seconds.String(); got != "seconds * 0.100000" {
		t.Errorf("the stage's seconds are %s, want the measured 0.1 a second", got)
	}
	if s.Stages[1].Footprint != nil || s.GPU.Context != 480*mib+p.Resident {
		t.Errorf("got %+v, %+v", s.Stages[1].Footprint, s.GPU)
	}
	if diff := cmp.Diff([]scenario.Fault{{Leak: mib, Share: 1, FromFile: 1}},
		s.Faults); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	if c := got[0]; c.Used != profile.Measured || fmt.Sprintf("%.2f", c.Ratio) != "1.37" ||
		record.FormatBytes(c.Measured) != "2.17 GiB" ||
		record.FormatBytes(c.Estimated) != "1.59 GiB" {
		t.Errorf("got %+v", c)
	}
}

// TestApplyLonger: if the profile has no slope and the batch has longer files, AtMost is more than
// what was measured.
func TestApplyLonger(t *testing.T) {
	for _, c := range []struct {
		name    string
		seconds []int
		want    int64
	}{
		// Files of 120, 300 and 180 s count. Their median is 1384 MiB, which is 240 MiB less than
		// the longest file takes. The line may rise by twice this spread over 180 s, and goes on
		// for 300 s more.
		{"few", []int{60, 120, 300, 180}, gib + 600*mib + 800*mib},
		{"alike", []int{300, 300, 300, 300, 300, 300}, 2 * (gib + 600*mib)},
		// The first file loads and warms up, so only the one of 150 s counts.
		{"one", []int{600, 150}, 4 * (gib + 300*mib)},
		{"slope", []int{60, 120, 300, 180, 240, 90}, gib + 1200*mib},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := scenario.Read([]byte("files: {count: 10, seconds: 60-600}\nstages: [{name: "+
				"Transcription}]\n"), "p.yaml")
			if err != nil {
				t.Fatal(err)
			}
			if got := learn(t, batch{seconds: c.seconds}.log()).Apply(s)[0]; got.AtMost != c.want {
				t.Errorf("got at most %d MiB, measured %d, want at most %d", got.AtMost/mib,
					got.Measured/mib, c.want/mib)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("schema: vramsoak.profile/1\nstages: [{name: A, base: 1GiB}]\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		p, err := profile.Read(src, "profile.yaml")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "profile.yaml:") {
				t.Fatalf("the error names no position: %v", err)
			}
			return
		}
		var b bytes.Buffer
		if err := p.Write(&b); err != nil {
			t.Fatal(err)
		}
	})
}
