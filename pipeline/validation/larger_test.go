package validation

import (
	"slices"
	"testing"

	"vramsoak/pipeline/scenario"
)

// TestLarger: the proposed card is the smallest card that meets three conditions. It is larger than
// the scenario's 16 GiB, the need is at most 85 % of it, and the trial fits on it. A need of 12 GiB
// is 75 % of 16 GiB, but a card of 16 GiB is not larger. On 24 GiB the trial fails, as it may with
// fragmented memory.
func TestLarger(t *testing.T) {
	s, err := scenario.Read([]byte(file), "larger.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		need int64
		want int64
		on   []int64 // cards that were tried
	}{
		{12 << 30, 48, []int64{24, 48}},
		{40 << 30, 48, []int64{48}},
		{41 << 30, 80, []int64{80}}, // 41 GiB are 85.4 % of 48
		{100 << 30, 0, nil},
	} {
		var on []int64
		card, _, _, err := larger(s, func(s *scenario.Scenario, f Files) (Result, error) {
			on = append(on, s.GPU.Size>>30)
			if s.GPU.Size>>30 == 24 {
				return Result{Answer: DoesNotFit}, nil
			}
			return Result{Files: f.Count}, nil
		}, 10, c.need, 0.85)
		if err != nil || card.Size>>30 != c.want || !slices.Equal(on, c.on) {
			t.Errorf("need of %d GiB: got %d GB, tried %v, %v; want %d, %v", c.need>>30,
				card.Size>>30, on, err, c.want, c.on)
		}
	}
}
