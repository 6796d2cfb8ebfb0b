package speakers

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var subtitled = []Segment{
	{Start: 3661.0005, End: 3662.25, Speaker: "SPEAKER_01", Text: "R&D <b>is</b> a --> b"},
	{Start: 0.05, End: 2.3, Speaker: "SPEAKER_00", Text: " So you\n\ncame. "},
	{Start: 4, End: 5, Speaker: "SPEAKER_00", Text: "  "},
	{Start: 6, End: 6, Speaker: "<Ann> B", Text: "你好"},
	{Start: 7, End: 6.5, Text: "Nobody"},
	{Start: math.NaN(), End: math.Inf(1), Text: "\x00no\xfftime"},
}

func TestWriteSRT(t *testing.T) {
	const want = `1
00:00:00,000 --> 277777:46:40,000
no` + "\uFFFD" + `time

2
00:00:00,050 --> 00:00:02,300
[SPEAKER_00]: So you came.

3
00:00:06,000 --> 00:00:06,001
[<Ann> B]: 你好

4
00:00:07,000 --> 00:00:07,001
Nobody

5
01:01:01,001 --> 01:01:02,250
[SPEAKER_01]: R&D <b>is</b> a → b

`
	var b bytes.Buffer
	if err := WriteSRT(&b, subtitled); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestWriteVTT(t *testing.T) {
	const want = `WEBVTT

00:00:00.000 --> 277777:46:40.000
no` + "\uFFFD" + `time

00:00:00.050 --> 00:00:02.300
<v SPEAKER_00>So you came.

00:00:06.000 --> 00:00:06.001
<v &lt;Ann&gt; B>你好

00:00:07.000 --> 00:00:07.001
Nobody

01:01:01.001 --> 01:01:02.250
<v SPEAKER_01>R&amp;D &lt;b&gt;is&lt;/b&gt; a --&gt; b

`
	var b bytes.Buffer
	if err := WriteVTT(&b, subtitled); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	b.Reset()
	if err := WriteVTT(&b, nil); err != nil || b.String() != "WEBVTT\n\n" {
		t.Errorf("no segments: found %q, %v", b.String(), err)
	}
}

func TestWritersSayThatTheDiskIsFull(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = full.Close() }() // writes to /dev/full always fail
	for name, write := range map[string]func(io.Writer) error{
		"SRT":  func(w io.Writer) error { return WriteSRT(w, subtitled) },
		"VTT":  func(w io.Writer) error { return WriteVTT(w, subtitled) },
		"RTTM": func(w io.Writer) error { return WriteRTTM(w, "a", []Turn{{0, 1, "A"}}) },
	} {
		if err := write(full); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: found %v", name, err)
		}
	}
}
