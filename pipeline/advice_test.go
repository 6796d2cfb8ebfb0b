package pipeline

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
)

// refused returns the error of a failed allocation on a device of 8 GiB, with the memory in use at
// that time.
func refused(requested, allocated, reserved int64) *meter.OutOfMemoryError {
	oom := &meter.OutOfMemoryError{Requested: requested}
	oom.Reading.Set(record.Allocated, record.Exact(allocated))
	oom.Reading.Set(record.Reserved, record.Exact(reserved))
	oom.Reading.Set(record.Total, record.Exact(8*record.GiB))
	return oom
}

func TestAdvise(t *testing.T) {
	const mib, gib = record.MiB, record.GiB
	for _, test := range []struct {
		name      string
		situation Situation
		want      []string
	}{
		{
			"a large model on a small device", // 1 GiB is missing; half of the model has 3 GiB
			Situation{
				Refused: refused(2*gib, 7*gib, 7*gib), Models: 6 * gib, Files: 1,
				Isolated: true,
			},
			[]string{"a smaller model: the models hold 6.00 GiB of 8.00 GiB; that alone is enough"},
		},
		{
			"a long file and a model", // 2 GiB are missing: halving the audio frees 2, halving the model 1
			Situation{
				Refused: refused(3*gib, 7*gib, 7*gib), Models: 2 * gib, Audio: 4 * gib,
				Seconds: 7200, Isolated: true,
			},
			[]string{
				"split the file: its 7200 s of audio hold 4.00 GiB, half of it holds half; that " +
					"alone is enough",
				"a smaller model: the models hold 2.00 GiB of 8.00 GiB",
			},
		},
		{
			"a short file is not split",
			Situation{
				Refused: refused(3*gib, 7*gib, 7*gib), Audio: 4 * gib, Seconds: 30,
				Isolated: true,
			},
			nil,
		},
		{
			"a batch", // 1 GiB is free, and a clip needs 0.5 GiB
			Situation{
				Refused: refused(4*gib, 7*gib, 7*gib), Items: 8, Item: "clip",
				Flag: "--enroll-batch", Isolated: true,
			},
			[]string{"smaller batches: 8 clips asked for 4.00 GiB, batches of 2 ask for 1.00 GiB " +
				"(--enroll-batch 2); that alone is enough"},
		},
		{
			"a batch too large even with one clip",
			Situation{
				Refused: refused(4*gib, 7*gib+900*mib, 8*gib), Items: 2, Item: "clip",
				Flag: "--enroll-batch", Isolated: true,
			},
			[]string{"smaller batches: 2 clips asked for 4.00 GiB, batches of 1 ask for 2.00 GiB " +
				"(--enroll-batch 1)"},
		},
		{
			"a batch that asked for an unknown size",
			Situation{
				Refused: refused(0, 7*gib, 7*gib), Items: 128, Fits: 32, Item: "text",
				Flag: "--text-batch", Isolated: true,
			},
			[]string{"smaller batches: 128 texts did not fit, batches of 32 did " +
				"(--text-batch 32); that alone is enough"},
		},
		{
			"a leak", // 50 MiB a file over 100 steps
			Situation{
				Refused: refused(2*gib, 7*gib, 7*gib), Files: 101, First: 100 * mib,
				Start: 5100 * mib, Isolated: true,
			},
			[]string{
				"restart the process every 50 files: over 101 files 4.88 GiB came to be held or " +
					"split up (vramsoak soak --restart-every 50); " +
					"that alone is enough",
			},
		},
		{
			"fragmentation", // enough memory is reserved and unused, but not in one piece
			Situation{Refused: refused(1*gib, 4*gib, 8*gib), Files: 60, Isolated: true},
			[]string{
				"restart the process every 30 files: over 60 files 4.00 GiB came to be held or " +
					"split up (vramsoak soak --restart-every 30); " +
					"that alone is enough",
			},
		},
		{
			"a cache that is never cleared",
			Situation{
				Refused: refused(1*gib, 4*gib, 8*gib), Files: 60, KeepCache: true,
				Isolated: true,
			},
			[]string{"clear the cache: 4.00 GiB is reserved and not in use (--clear-every 5); " +
				"that alone is enough"},
		},
		{
			"what libraries keep",
			Situation{Refused: refused(2*gib, 7*gib, 7*gib), Files: 2, First: gib, Start: gib},
			[]string{"stages in processes of their own: 1.00 GiB stayed allocated between files " +
				"(--isolate whisper,diarization); that alone is enough"},
		},
		{
			"more than the device: to free does not help",
			Situation{
				Refused: refused(16*gib, 4*gib, 8*gib), Files: 60, KeepCache: true,
				Start: 4 * gib,
			},
			[]string{"a larger device: 16.0 GiB are more than all of its 8.00 GiB"},
		},
		{
			"more than the device, by a batch",
			Situation{
				Refused: refused(16*gib, 4*gib, 8*gib), Files: 60, KeepCache: true,
				Start: 4 * gib, Items: 16, Item: "clip", Flag: "--enroll-batch",
			},
			[]string{"smaller batches: 16 clips asked for 16.0 GiB, batches of 4 ask for 4.00 " +
				"GiB (--enroll-batch 4); that alone is enough"},
		},
		{
			"an unknown size", // no change is surely enough; 5 % of the device are 410 MiB
			Situation{
				Refused: refused(0, 7*gib, 7*gib), Models: 2 * gib, Files: 3, First: 0,
				Start: 400 * mib, Isolated: true,
			},
			[]string{"a smaller model: the models hold 2.00 GiB of 8.00 GiB"},
		},
		{"an unread device", Situation{
			Refused:  &meter.OutOfMemoryError{Requested: gib},
			Isolated: true,
		}, nil},
	} {
		if diff := cmp.Diff(test.want, test.situation.Advise()); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

// TestAdviceIsLogged: for a file that runs out of memory, the log has advice with the figures that
// the runner and the caller know. The parser must not read the advice as another failure.
func TestAdviceIsLogged(t *testing.T) {
	d := &device{total: 8 << 30}
	r, log := newRunner(d)
	r.Describe = func(s *Situation) { s.Models, s.Isolated = s.Held["Whisper"], true }
	b := &Batch{Runner: r, First: 1, Work: func(ctx context.Context, _ *Scope, f File) error {
		d.allocated += 256 << 20 // leaks
		return r.Stage(ctx, "Transcription", func(_ context.Context, s *Scope) error {
			held := s.Growth()
			s.Defer("Whisper", held, d.load(6<<30))
			if f.Path != "last" {
				return nil
			}
			return &meter.OutOfMemoryError{Requested: 2 << 30, Reading: d.reading()}
		})
	}}
	if result, err := b.Run(t.Context(), feed("1", "2", "3", "last")); err != nil ||
		result.Failed != 1 {
		t.Errorf("batch: found %+v, %v", result, err)
	}
	var advice []string
	for line := range strings.Lines(log.String()) {
		if _, text, ok := strings.Cut(line, " ADVICE: "); ok {
			advice = append(advice, strings.TrimSpace(text))
		}
	}
	// When the fourth file begins, 3 x 256 MiB are allocated. The file allocates 6 GiB and 256 MiB
	// more, so that 1 GiB of 8 GiB is free, but the file needs 2 GiB.
	want := []string{
		"a smaller model: the models hold 6.00 GiB of 8.00 GiB; that alone is enough",
		"restart the process every 2 files: over 4 files 768 MiB came to be held or split up " +
			"(vramsoak soak --restart-every 2)",
	}
	if diff := cmp.Diff(want, advice); diff != "" {
		t.Error(diff)
	}
	tl := readLog(t, log)
	if len(tl.Files) != 4 || len(tl.Files[3].OOMs) != 1 || tl.Files[3].Status != record.StatusOOM {
		t.Errorf("the log reads as %+v", tl.Files[3])
	}
}
