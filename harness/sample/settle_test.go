package sample

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
)

// usage returns a function that reads one device, as Settle needs it. Its readings are the values
// of used, one after the other; the last value stays.
func usage(used ...int64) func() ([]meter.Occupancy, error) {
	reads := 0
	return func() ([]meter.Occupancy, error) {
		u := used[min(reads, len(used)-1)]
		reads++
		return []meter.Occupancy{{Device: 0, GPU: 3, Used: u, Total: 1000 << 20}}, nil
	}
}

func TestSettle(t *testing.T) {
	const mib = 1 << 20
	moving := make([]int64, 1000)
	for i := range moving {
		moving[i] = int64(i)
	}
	for _, test := range []struct {
		name    string
		used    []int64
		limit   time.Duration
		want    int64
		settled bool
		after   time.Duration
	}{
		{"still from the start", []int64{7 * mib}, 30 * time.Second, 7 * mib, true, time.Second},
		{
			"given back",
			[]int64{900 * mib, 500 * mib, 7 * mib},
			30 * time.Second, 7 * mib, true,
			1500 * time.Millisecond,
		},
		{
			"still for a while, then less",
			[]int64{900, 900, 900, 900, 5},
			30 * time.Second, 5, true,
			2 * time.Second,
		},
		{"moves for ever", moving, 10 * time.Second, 40, false, 10 * time.Second},
		{"too little time to know", []int64{7}, 900 * time.Millisecond, 7, false, 900 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				got, err := Settle(t.Context(), usage(test.used...), test.limit)
				if err != nil || len(got) != 1 {
					t.Fatal(got, err)
				}
				// Whether a last reading is taken exactly at the time limit depends on chance.
				used := got[0].Bytes(record.Used)
				if used != test.want && (test.settled || used != test.want-1) ||
					got[0].Settled != test.settled || got[0].GPU != 3 {
					t.Errorf("found %d, %+v", used, got[0])
				}
				if took := time.Since(began); took != test.after {
					t.Errorf("it took %v, want %v", took, test.after)
				}
			})
		})
	}
}

func TestSettleWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		defer close(answer)
		hangs := func() ([]meter.Occupancy, error) { <-answer; return nil, nil }
		if _, err := Settle(t.Context(), hangs, 30*time.Second); !errors.Is(err, errNoAnswer) ||
			!strings.Contains(err.Error(), "within 30s") {
			t.Errorf("a driver that hangs: %v", err)
		}
		lost := errors.New("GPU is lost")
		broken := func() ([]meter.Occupancy, error) { return nil, lost }
		if _, err := Settle(t.Context(), broken, 30*time.Second); !errors.Is(err, lost) {
			t.Errorf("a driver that fails: %v", err)
		}
		none := func() ([]meter.Occupancy, error) { return nil, nil }
		if got, err := Settle(t.Context(), none, 30*time.Second); err != nil || len(got) != 0 {
			t.Errorf("no devices: %v, %v", got, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		began := time.Now()
		if _, err := Settle(ctx, usage(0), 30*time.Second); !errors.Is(err,
			context.DeadlineExceeded) || time.Since(began) != 300*time.Millisecond {
			t.Errorf("an end of the context: %v after %v", err, time.Since(began))
		}
	})
}
