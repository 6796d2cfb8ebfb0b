package speakers

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func TestWriteRTTM(t *testing.T) {
	var b bytes.Buffer
	if err := WriteRTTM(&b, "my interview", []Turn{
		{0.05, 2.3, "SPEAKER_00"},
		{2.0004, 3.5, "Ann B"},
		{12, 13.25, ""},
	}); err != nil {
		t.Fatal(err)
	}
	const want = `SPEAKER my_interview 1 0.050 2.250 <NA> <NA> SPEAKER_00 <NA> <NA>
SPEAKER my_interview 1 2.000 1.500 <NA> <NA> Ann_B <NA> <NA>
SPEAKER my_interview 1 12.000 1.250 <NA> <NA> <NA> <NA> <NA>
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

// TestReadRTTM reads lines as other programs write them: NIST's aligned columns, a line of another
// type, a comment, nine fields, CRLF, and no newline at the end.
func TestReadRTTM(t *testing.T) {
	const text = `;; made by md-eval
SPKR-INFO  conv  1  <NA>   <NA>  <NA> <NA>  A  <NA>
SPEAKER    conv  1  10.25  1.50  <NA> <NA>  A  <NA>

SPEAKER other 1 0 2 <NA> <NA> B <NA> <NA>` + "\r\n" + `SPEAKER conv 1 8 1.0 <NA> <NA> B <NA> <NA>`
	got, err := ReadRTTM(strings.NewReader(text), "conv.rttm")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]Turn{"conv": {{10.25, 11.75, "A"}, {8, 9, "B"}}, "other": {{0, 2, "B"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadRTTMSaysWhatIsWrong(t *testing.T) {
	const good = "SPEAKER a 1 0 1 <NA> <NA> A <NA> <NA>\n"
	for line, want := range map[string]string{
		"SPEAKER a 1 0 1": "x.rttm:2: expected 8 fields or more in a " +
			"SPEAKER line, the eighth the speaker, found 5",
		"SPEAKER a 1 zero 1 <NA> <NA> A <NA> <NA>":    `x.rttm:2: expected the start in seconds, 0 or more, found "zero"`,
		"SPEAKER a 1 0 -1 <NA> <NA> A <NA> <NA>":      `x.rttm:2: expected the duration in seconds, 0 or more, found "-1"`,
		"SPEAKER a 1 NaN 1 <NA> <NA> A <NA> <NA>":     `x.rttm:2: expected the start in seconds, 0 or more, found "NaN"`,
		"SPEAKER a 1 0 Inf <NA> <NA> A <NA> <NA>\r\n": `x.rttm:2: expected the duration in seconds, 0 or more, found "Inf"`,
	} {
		if _, err := ReadRTTM(strings.NewReader(good+line), "x.rttm"); err == nil ||
			err.Error() != want {
			t.Errorf("%q: expected error %q, found %v", line, want, err)
		}
	}
	broken := errors.New("broken pipe")
	if _, err := ReadRTTM(iotest.ErrReader(broken), "x.rttm"); !errors.Is(err, broken) {
		t.Errorf("found %v", err)
	}
}

// TestRTTMRoundTrip: ReadRTTM returns the turns that WriteRTTM wrote, with times within a
// millisecond.
func TestRTTMRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var turns []Turn
		for range rapid.IntRange(1, 10).Draw(t, "turns") {
			start := rapid.Float64Range(0, 1e6).Draw(t, "start")
			turns = append(turns, Turn{
				start, start + rapid.Float64Range(0, 1e4).Draw(t, "length"),
				rapid.StringMatching(`[!-~äß你]{1,10}`).Draw(t, "speaker"),
			})
		}
		uri := rapid.StringMatching(`[!-~äß你]{1,20}`).Draw(t, "uri")
		var b bytes.Buffer
		if err := WriteRTTM(&b, uri, turns); err != nil {
			t.Fatal(err)
		}
		got, err := ReadRTTM(&b, "rttm")
		if err != nil {
			t.Fatal(err)
		}
		// Start and duration are each rounded to a millisecond, so the end may be off by a
		// millisecond.
		if diff := cmp.Diff(map[string][]Turn{uri: turns}, got, cmpopts.EquateApprox(0,
			0.001+1e-6)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzReadRTTM(f *testing.F) {
	f.Add([]byte("SPEAKER a 1 0.5 1.25 <NA> <NA> A <NA> <NA>\n;; x\nSPEAKER"))
	f.Fuzz(func(t *testing.T, data []byte) {
		turns, err := ReadRTTM(bytes.NewReader(data), "fuzz")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "fuzz:") {
				t.Errorf("the error names no line: %v", err)
			}
			return
		}
		for uri, turns := range turns {
			for _, turn := range turns {
				if !(turn.End >= turn.Start) || turn.Start < 0 || uri == "" {
					t.Errorf("bad turn %+v of %q", turn, uri)
				}
			}
		}
	})
}
