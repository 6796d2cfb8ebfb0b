package speakers

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

var nearly = cmpopts.EquateApprox(0, 1e-9)

func TestCompare(t *testing.T) {
	none := map[string]string{}
	for _, test := range []struct {
		name                  string
		reference, hypothesis []Turn
		collar                float64
		want                  Errors
		rate                  float64
	}{
		{
			// The figures come from pyannote.metrics' own test, tests/test_diarization.py.
			"pyannote's example",
			[]Turn{{0, 10, "A"}, {12, 20, "B"}, {24, 27, "A"}, {30, 40, "C"}},
			[]Turn{{2, 13, "a"}, {13, 14, "d"}, {14, 20, "b"}, {22, 38, "c"}, {38, 40, "d"}},
			0,
			Errors{31, 2, 7, 7, map[string]string{"a": "A", "b": "B", "c": "C"}},
			0.5161290322580645,
		},
		{
			// The figures come from pyannote's old tutorial, doc/tutorial/metric.rst in
			// guinaudeau/pyannote.
			"pyannote's example of overlaps",
			[]Turn{
				{0, 10, "Bernard"},
				{9, 15, "Albert"},
				{15, 20, "Jean"},
				{20, 30, "Bernard"},
				{29, 33, "Jean"},
				{33, 40, "Albert"},
			},
			[]Turn{
				{1, 11, "1"},
				{21, 31, "1"},
				{9, 15, "2"},
				{29, 33, "2"},
				{15, 20, "3"},
				{33, 40, "2"},
				{40, 41, "4"},
			},
			0,
			Errors{42, 2, 3, 4, map[string]string{"1": "Bernard", "2": "Albert", "3": "Jean"}},
			0.21428571428571427,
		},
		{
			// pyannote.metrics' test_bug_16. Its collar of 1 is half a second on each side.
			"silence, with a collar",
			[]Turn{{0, 10, "A"}},
			nil, 0.5,
			Errors{9, 9, 0, 0, none},
			1,
		},
		{
			// The first turn starts 0.2 s late, which is within the collar of 0.25 s. The second
			// turn starts 1 s late, which is 0.75 s beyond the collar.
			"a late start within the collar, and one beyond",
			[]Turn{{0, 4, "A"}, {6, 10, "B"}},
			[]Turn{{0.2, 4, "a"}, {7, 10, "b"}},
			0.25,
			Errors{7, 0.75, 0, 0, map[string]string{"a": "A", "b": "B"}},
			0.75 / 7,
		},
		{
			"collars that meet leave nothing",
			[]Turn{{0, 1, "A"}},
			[]Turn{{0, 1, "a"}},
			0.5,
			Errors{Mapping: none},
			0,
		},
		{
			"three speak, two are heard, one of them right", // b is D, silent before 20 s
			[]Turn{{0, 10, "A"}, {0, 10, "B"}, {0, 10, "C"}, {20, 40, "D"}},
			[]Turn{{0, 10, "a"}, {0, 10, "b"}, {20, 40, "b"}},
			0,
			Errors{50, 10, 0, 10, map[string]string{"a": "A", "b": "D"}},
			0.4,
		},
		{
			"one speaks, two are heard",
			[]Turn{{0, 10, "A"}},
			[]Turn{{0, 10, "a"}, {5, 10, "b"}},
			0,
			Errors{10, 0, 5, 0, map[string]string{"a": "A"}},
			0.5,
		},
		{
			// Seconds in which both speak: a-A 6 and b-B 1, in sum 7; a-B 5 and b-A 4, in sum 9.
			"the mapping that is best for all, not for each",
			[]Turn{{0, 10, "A"}, {10, 16, "B"}},
			[]Turn{{0, 6, "a"}, {6, 10, "b"}, {10, 15, "a"}, {15, 16, "b"}},
			0,
			Errors{16, 0, 0, 7, map[string]string{"a": "B", "b": "A"}},
			7.0 / 16,
		},
		{
			"a speaker's turns that overlap are one voice",
			[]Turn{{0, 6, "A"}, {4, 10, "A"}},
			[]Turn{{0, 10, "a"}, {2, 3, "a"}},
			0,
			Errors{Reference: 10, Mapping: map[string]string{"a": "A"}},
			0,
		},
		{
			"all is false alarm", nil,
			[]Turn{{0, 10, "a"}},
			0,
			Errors{FalseAlarm: 10, Mapping: none},
			1,
		},
		{"neither reference nor hypothesis", nil, nil, 0.25, Errors{Mapping: none}, 0},
		{
			"turns that are none",
			[]Turn{{3, 3, "A"}, {5, 4, "A"}, {math.NaN(), 4, "A"}, {0, math.Inf(1), "A"}},
			[]Turn{{2, 2, "b"}},
			0.25,
			Errors{Mapping: none},
			0,
		},
	} {
		got := Compare(test.reference, test.hypothesis, test.collar)
		if diff := cmp.Diff(test.want, got, nearly); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
		if math.Abs(got.Rate()-test.rate) > 1e-9 {
			t.Errorf("%s: expected a rate of %g, found %g", test.name, test.rate, got.Rate())
		}
	}
}

// TestCompareAgainstAllMappings compares Compare with a simpler method, which looks at every half
// second and tries every mapping of up to four speakers to four.
func TestCompareAgainstAllMappings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		reference, hypothesis := drawTurns(t, "reference", 8), drawTurns(t, "hypothesis", 8)
		collar := float64(rapid.IntRange(0, 2).Draw(t, "collar")) / 2
		names := []string{"A", "B", "C", "D"}
		var want Errors
		frames := make([][2]map[string]bool, 0, 100)
		for at := 0.25; at < 50; at += 0.5 {
			frame := [2]map[string]bool{{}, {}}
			skipped := false
			for _, turn := range reference {
				skipped = skipped || math.Abs(at-turn.Start) < collar ||
					math.Abs(at-turn.End) < collar
			}
			for side, turns := range [2][]Turn{reference, hypothesis} {
				for _, turn := range turns {
					if turn.Start < at && at < turn.End {
						frame[side][turn.Speaker] = true
					}
				}
			}
			if skipped {
				continue
			}
			r, h := len(frame[0]), len(frame[1])
			want.Reference += 0.5 * float64(r)
			want.Missed += 0.5 * float64(max(0, r-h))
			want.FalseAlarm += 0.5 * float64(max(0, h-r))
			frames = append(frames, frame)
		}
		want.Confusion = math.Inf(1)
		for _, mapped := range permutations(names) {
			confusion := 0.0
			for _, frame := range frames {
				right := 0
				for i, name := range names {
					if frame[0][name] && frame[1][mapped[i]] {
						right++
					}
				}
				confusion += 0.5 * float64(min(len(frame[0]), len(frame[1]))-right)
			}
			want.Confusion = min(want.Confusion, confusion)
		}
		got := Compare(reference, hypothesis, collar)
		if diff := cmp.Diff(want, got, nearly, cmpopts.IgnoreFields(Errors{},
			"Mapping")); diff != "" {
			t.Fatal(diff)
		}
	})
}

func permutations(names []string) [][]string {
	if len(names) == 0 {
		return [][]string{{}}
	}
	var all [][]string
	for i, first := range names {
		rest := append(append([]string{}, names[:i]...), names[i+1:]...)
		for _, p := range permutations(rest) {
			all = append(all, append([]string{first}, p...))
		}
	}
	return all
}

// TestCompareProperties: compared with itself, a diarization has no errors, even if its speakers
// get other names. If reference and diarization change places, missed speech becomes false alarm.
func TestCompareProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawTurns(t, "a", 10), drawTurns(t, "b", 10)
		other := rapid.Permutation([]string{"A", "B", "C", "D"}).Draw(t, "names")
		renamed := make([]Turn, len(a))
		for i, turn := range a {
			renamed[i] = Turn{turn.Start, turn.End, other[turn.Speaker[0]-'A']}
		}
		if e := Compare(a, renamed, 0); e.Rate() > 1e-12 {
			t.Fatalf("against itself: %+v", e)
		}
		forth, back := Compare(a, b, 0), Compare(b, a, 0)
		if math.Abs(forth.Missed-back.FalseAlarm) > 1e-9 ||
			math.Abs(forth.Confusion-back.Confusion) > 1e-9 {
			t.Fatalf("found %+v in one direction, %+v in the other", forth, back)
		}
		if again := Compare(renamed, b, 0); math.Abs(again.Rate()-forth.Rate()) > 1e-9 {
			t.Fatalf("found %+v with other names, %+v before", again, forth)
		}
		// Missed and confused speech together cannot be longer than the speech of the reference.
		if forth.Missed+forth.Confusion > forth.Reference+1e-9 || min(forth.Missed,
			forth.FalseAlarm, forth.Confusion) < 0 {
			t.Fatalf("%+v", forth)
		}
		var sum Errors
		sum.Add(forth)
		sum.Add(back)
		if math.Abs(sum.Reference-forth.Reference-back.Reference) > 1e-9 ||
			math.Abs(sum.Missed-forth.Missed-back.Missed) > 1e-9 {
			t.Fatalf("found the sum %+v", sum)
		}
	})
}

// TestMatch: no other pairing has a larger sum of weights than the one that match returns.
func TestMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, columns := rapid.IntRange(0, 5).Draw(t, "rows"), rapid.IntRange(1, 5).Draw(t,
			"columns")
		weights := make([][]float64, rows)
		for r := range weights {
			for range columns {
				weights[r] = append(weights[r], float64(rapid.IntRange(0, 9).Draw(t, "weight")))
			}
		}
		found, taken := 0.0, map[int]bool{}
		for r, c := range match(weights) {
			if c < 0 {
				continue
			}
			if taken[c] || weights[r][c] == 0 {
				t.Fatalf("row %d has column %d", r, c)
			}
			taken[c] = true
			found += weights[r][c]
		}
		if want := heaviest(weights, 0, map[int]bool{}); found != want {
			t.Fatalf("expected pairs of %g, found %g for %v", want, found, weights)
		}
	})
}

// heaviest tries all pairings of the rows from `row` on and returns the largest sum of weights.
// taken has the columns that are paired with earlier rows.
func heaviest(weights [][]float64, row int, taken map[int]bool) float64 {
	if row == len(weights) {
		return 0
	}
	best := heaviest(weights, row+1, taken)
	for c, w := range weights[row] {
		if !taken[c] {
			taken[c] = true
			best = max(best, w+heaviest(weights, row+1, taken))
			delete(taken, c)
		}
	}
	return best
}

// BenchmarkCompare compares diarizations of a recording of ten hours, with 20,000 turns of 20
// speakers.
func BenchmarkCompare(b *testing.B) {
	var reference, hypothesis []Turn
	for i := range 20_000 {
		start := 1.8 * float64(i)
		reference = append(reference, Turn{start, start + 2, string(rune('A' + i%20))})
		hypothesis = append(hypothesis, Turn{start + 0.1, start + 1.7, string(rune('a' + i*7%20))})
	}
	for b.Loop() {
		Compare(reference, hypothesis, 0.25)
	}
}
