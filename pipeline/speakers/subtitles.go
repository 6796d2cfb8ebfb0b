package speakers

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// WriteSRT writes segments as SubRip subtitles. Each text begins with the speaker, as in WhisperX:
//
//	1
//	00:00:00,050 --> 00:00:02,300
//	[SPEAKER_00]: So you came.
//
// WriteSRT leaves out segments without text. Players would read "-->" in a text as the times of the
// next subtitle, and SubRip has no escapes, so WriteSRT writes an arrow instead. A subtitle lasts
// at least a millisecond, because players skip shorter ones.
func WriteSRT(w io.Writer, segments []Segment) error {
	var b bytes.Buffer
	for i, c := range cues(segments) {
		if c.Speaker != "" {
			c.Text = "[" + c.Speaker + "]: " + c.Text
		}
		c.Text = strings.ReplaceAll(c.Text, "-->", "→")
		fmt.Fprintf(&b, "%d\n%s --> %s\n%s\n\n", i+1, clock(c.from, ","), clock(c.to, ","), c.Text)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// WriteVTT writes segments as WebVTT (https://www.w3.org/TR/webvtt1). The speaker is in a voice
// tag:
//
//	WEBVTT
//
//	00:00:00.050 --> 00:00:02.300
//	<v SPEAKER_00>So you came.
//
// Like [WriteSRT], WriteVTT leaves out segments without text, and its subtitles last at least a
// millisecond.
func WriteVTT(w io.Writer, segments []Segment) error {
	// An unescaped "-->" would begin another subtitle, and "<" would begin a tag.
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	b := bytes.NewBufferString("WEBVTT\n\n")
	for _, c := range cues(segments) {
		c.Text = escape.Replace(c.Text)
		if c.Speaker != "" {
			c.Text = "<v " + escape.Replace(c.Speaker) + ">" + c.Text
		}
		fmt.Fprintf(b, "%s --> %s\n%s\n\n", clock(c.from, "."), clock(c.to, "."), c.Text)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// A cue is a segment as a subtitle. Its text is on one line, because an empty line would end the
// subtitle.
type cue struct {
	Segment
	from, to int64 // milliseconds
}

// cues returns the segments that have text as subtitles. They are sorted by start, as both formats
// require.
func cues(segments []Segment) []cue {
	var cues []cue
	for _, s := range segments {
		s.Text, s.Speaker = oneLine(s.Text), oneLine(s.Speaker)
		if s.Text == "" {
			continue
		}
		from := milliseconds(s.Start)
		cues = append(cues, cue{s, from, max(from+1, milliseconds(s.End))})
	}
	slices.SortStableFunc(cues, func(a, b cue) int { return cmp.Compare(a.from, b.from) })
	return cues
}

func oneLine(s string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", " "),
		"\uFFFD")), " ")
}

// milliseconds converts seconds to milliseconds. It returns 0 for a time before the audio starts,
// and for NaN.
func milliseconds(seconds float64) int64 {
	const most = 1e9 // seconds; 31 years
	if !(seconds > 0) {
		return 0
	}
	return int64(math.Round(min(seconds, most) * 1000))
}

// clock returns a time such as 01:02:03,004. Hours from 100 on take three digits or more. point is
// the character before the milliseconds.
func clock(ms int64, point string) string {
	s := ms / 1000
	return fmt.Sprintf("%02d:%02d:%02d%s%03d", s/3600, s/60%60, s%60, point, ms%1000)
}
