package speakers

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// WriteRTTM writes the turns of one audio in the Rich Transcription Time Marked format of NIST's
// evaluations (RT-09 evaluation plan, appendix A). The times are the start and the duration in
// seconds:
//
//	SPEAKER interview 1 0.050 2.250 <NA> <NA> SPEAKER_00 <NA> <NA>
//
// The output is the same as from pyannote.core's Annotation.write_rttm, to the byte. Blanks
// separate the fields, so a blank in uri (the name of the audio) or in a speaker, which pyannote
// refuses, becomes "_". An empty field is "<NA>".
func WriteRTTM(w io.Writer, uri string, turns []Turn) error {
	var b bytes.Buffer
	for _, t := range turns {
		fmt.Fprintf(&b, "SPEAKER %s 1 %.3f %.3f <NA> <NA> %s <NA> <NA>\n", RTTMField(uri), t.Start,
			t.Seconds(), RTTMField(t.Speaker))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// RTTMField returns a name as a field of RTTM: blanks become "_", and an empty name becomes "<NA>".
func RTTMField(s string) string {
	if s = strings.Join(strings.Fields(s), "_"); s == "" {
		return "<NA>"
	}
	return s
}

// ReadRTTM returns the turns of each audio, by the name of the audio. It skips comments (";;"),
// empty lines and lines of other types than SPEAKER. An error begins with name and the line number.
func ReadRTTM(r io.Reader, name string) (map[string][]Turn, error) {
	turns := map[string][]Turn{}
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := lines.ReadString('\n')
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if fields := strings.Fields(line); len(fields) > 0 && fields[0] == "SPEAKER" {
			t, bad := parseRTTM(fields)
			if bad != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, n, bad)
			}
			turns[fields[1]] = append(turns[fields[1]], t)
		}
		if err == io.EOF {
			return turns, nil
		}
	}
}

// parseRTTM reads the fields of a SPEAKER line. Older files lack the last one or two of the ten
// fields.
func parseRTTM(fields []string) (Turn, error) {
	if len(fields) < 8 {
		return Turn{}, fmt.Errorf("expected 8 fields or more in a SPEAKER line, the eighth the "+
			"speaker, found %d", len(fields))
	}
	var times [2]float64
	for i, what := range []string{"start", "duration"} {
		v, err := strconv.ParseFloat(fields[3+i], 64)
		if err != nil || !(v >= 0) || math.IsInf(v, 0) {
			return Turn{}, fmt.Errorf("expected the %s in seconds, 0 or more, found %q", what,
				fields[3+i])
		}
		times[i] = v
	}
	return Turn{times[0], times[0] + times[1], fields[7]}, nil
}
