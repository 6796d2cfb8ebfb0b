package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/pipeline/meter"
)

// enrollment returns an enrollment on the test's device, and a list that gets the size of each
// tensor. The embedding of a clip is the sum of its samples, so a wrong part of a clip gives a
// wrong sum.
func (d *device) enrollment(b Batching) (e Enrollment, sizes *[]int64) {
	sizes = new([]int64)
	return Enrollment{
		Batching: b,
		Device:   d,
		Alloc: func(n int64) (Tensor, error) {
			if n > d.total-d.allocated {
				return Tensor{}, &meter.OutOfMemoryError{Requested: n, Reading: d.reading()}
			}
			*sizes = append(*sizes, n)
			free := d.load(n)
			data := slices.Repeat([]float32{1000}, int(n/4)) // old data of another tensor
			return Tensor{data, func() { _ = free() }}, nil
		},
		Embed: func(_ context.Context, clip []float32) ([]float32, error) {
			var sum float32
			for _, x := range clip {
				sum += x
			}
			return []float32{float32(len(clip)), sum}, nil
		},
	}, sizes
}

// clips returns clips with these numbers of samples, and the embeddings expected for the clips. All
// samples are 1.
func clips(lengths ...int) (clips [][]float32, embeddings [][]float32) {
	for _, n := range lengths {
		clips = append(clips, slices.Repeat([]float32{1}, n))
		embeddings = append(embeddings, []float32{float32(n), float32(n)})
	}
	return clips, embeddings
}

func TestEnrollInBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{allocated: 1 << 20, total: 1 << 30}
		r, log := newRunner(d)
		e, sizes := d.enrollment(Batching{Size: 2, ClearEvery: 2})
		given, want := clips(10, 30, 20, 5, 40)
		got, err := r.Enroll(t.Context(), e, given)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		// Batches of 2 x 30, 2 x 20 and 1 x 40 samples of 4 bytes.
		if diff := cmp.Diff([]int64{240, 160, 160}, *sizes); diff != "" {
			t.Error(diff)
		}
		// Batches are counted over all files: the fourth batch is the first of this file.
		if _, err := r.Enroll(t.Context(), e, given); err != nil {
			t.Fatal(err)
		}
		expectLog(t, log, `
2000-01-01T00:00:00.000Z Cleared GPU cache after 2 batches of voice enrollment
2000-01-01T00:00:00.000Z Cleared GPU cache after voice enrollment
2000-01-01T00:00:00.000Z Cleared GPU cache after 2 batches of voice enrollment
2000-01-01T00:00:00.000Z Cleared GPU cache after voice enrollment
`)
		if d.trims != 4 || d.allocated != 1<<20 {
			t.Errorf("trimmed %d times, %d bytes stay allocated", d.trims, d.allocated)
		}
		log.Reset()
		r.KeepCache = true
		if got, err := r.Enroll(t.Context(), e, given); err != nil || len(got) != 5 ||
			log.Len() > 0 || d.trims != 4 {
			t.Errorf("cache kept: found %d embeddings, %v, log %q, %d trims", len(got), err,
				log, d.trims)
		}
		if got, err := r.Enroll(t.Context(), e, nil); err != nil || len(got) != 0 {
			t.Errorf("no clips: found %v, %v", got, err)
		}
	})
}

// TestEnrollFitsIntoItsShare: the tensor of a batch takes at most Batching.Memory of the free
// memory. A single clip may take more.
func TestEnrollFitsIntoItsShare(t *testing.T) {
	d := &device{allocated: 1000, total: 9000}
	r, _ := newRunner(d)
	given, want := clips(100, 100, 50, 300, 100, 100, 100)
	for text, sizes := range map[string][]int64{
		"1/10":   {800, 200, 1200, 800, 400},
		"100 B":  {400, 400, 200, 1200, 400, 400, 400},
		"12.5%":  {800, 200, 1200, 800, 400},
		"99%":    {4800, 1200},
		"100GiB": {4800, 1200},
	} {
		var share Share
		if err := share.Set(text); err != nil {
			t.Fatal(err)
		}
		e, found := d.enrollment(Batching{Size: 4, Memory: share})
		got, err := r.Enroll(t.Context(), e, given)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(sizes, *found); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

func TestEnrollHalves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{allocated: 1000, total: 1 << 30}
		r, log := newRunner(d)
		e, sizes := d.enrollment(Batching{Size: 8})
		alloc := e.Alloc
		e.Alloc = func(n int64) (Tensor, error) { // no free block is larger
			if n > 800 {
				return Tensor{}, &meter.OutOfMemoryError{Requested: n, Reading: d.reading()}
			}
			return alloc(n)
		}
		given, want := clips(100, 100, 100, 100, 100)
		got, err := r.Enroll(t.Context(), e, given)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]int64{800, 800, 400}, *sizes); diff != "" {
			t.Error(diff)
		}
		expectLog(t, log, `
2000-01-01T00:00:00.000Z WARNING: out of memory. Tried to allocate 1.95 KiB. Device 0 has a total capacity of 1024.00 MiB of which 1024.00 MiB is free. Of the allocated memory 1000 bytes is allocated, and 0 bytes is reserved but unallocated.
2000-01-01T00:00:00.000Z Attempting GPU recovery and retry with smaller batch: 2 of 5 clips
2000-01-01T00:00:00.000Z Cleared GPU cache before a smaller batch
2000-01-01T00:00:00.000Z ADVICE: smaller batches: 5 clips asked for 1.95 KiB, batches of 2 ask for 800 B (--enroll-batch 2); that alone is enough
2000-01-01T00:00:00.000Z Cleared GPU cache after voice enrollment
`)
		tl := readLog(t, log)
		if n := tl.Failures; n != 1 {
			t.Errorf("the parser finds %d failures in the log", n)
		}
	})
}

func readLog(t *testing.T, log fmt.Stringer) *timeline.Timeline {
	t.Helper()
	tl, err := parser.Build(parser.Read(strings.NewReader(log.String()), "log"))
	if err != nil {
		t.Fatal(err)
	}
	if len(tl.Bad) > 0 {
		t.Errorf("bad lines: %v", tl.Bad)
	}
	return tl
}

// TestEnrollHalvesForTheEngine: if the engine runs out of memory in the middle of a batch, the
// batch is halved too, and the embeddings of its first clips are kept.
func TestEnrollHalvesForTheEngine(t *testing.T) {
	d := &device{total: 1 << 30}
	r, _ := newRunner(d)
	e, sizes := d.enrollment(Batching{Size: 4})
	embed, calls := e.Embed, 0
	e.Embed = func(ctx context.Context, clip []float32) ([]float32, error) {
		if calls++; calls == 3 {
			return nil, fmt.Errorf("onnxruntime: %w", &meter.OutOfMemoryError{})
		}
		return embed(ctx, clip)
	}
	given, want := clips(1, 2, 3, 4, 5, 6)
	got, err := r.Enroll(t.Context(), e, given)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int64{4 * 4 * 4, 2 * 4 * 4, 2 * 6 * 4}, *sizes); diff != "" {
		t.Error(diff)
	}
	if d.allocated != 0 {
		t.Errorf("%d bytes stay allocated, want none", d.allocated)
	}
}

// TestEnrollFaults: with FaultOOMBatch only single clips fit. With FaultOOMItem no clip fits, and
// the file is processed without speakers.
func TestEnrollFaults(t *testing.T) {
	d := &device{total: 1 << 30}
	r, log := newRunner(d)
	e, sizes := d.enrollment(Batching{Size: 4})
	given, want := clips(10, 10, 10)
	e.Fault = FaultOOMBatch
	if got, err := r.Enroll(t.Context(), e, given); err != nil || cmp.Diff(want, got) != "" ||
		len(*sizes) != 3 {
		t.Errorf("oom-batch: found %v, %v in batches of %v", got, err, *sizes)
	}
	e.Fault = FaultOOMItem
	_, err := r.Enroll(t.Context(), e, given)
	oom, ok := errors.AsType[*meter.OutOfMemoryError](err)
	if !ok || oom.Requested != 2<<30+40 || !strings.HasPrefix(err.Error(),
		"voice enrollment: clip 1 of 3: out of memory. ") {
		t.Errorf("oom-item: found %v", err)
	}
	log.Reset()
	b := &Batch{Runner: r, First: 1, Work: func(ctx context.Context, _ *Scope, _ File) error {
		_, err := r.Enroll(ctx, e, given)
		if err != nil && r.FastPath(err) {
			return nil
		}
		return err
	}}
	if result, err := b.Run(t.Context(), feed("a b.wav")); err != nil || result.Failed != 0 {
		t.Errorf("found %+v, %v", result, err)
	}
	tl := readLog(t, log)
	// The batches of 3 clips and of 1 clip failed.
	if len(tl.Files) != 1 || tl.Files[0].Status != record.StatusOK || len(tl.Files[0].OOMs) != 2 {
		t.Fatalf("the parser reads the log as %+v", tl.Files)
	}
	for _, o := range tl.Files[0].OOMs {
		if !o.Fallback {
			t.Errorf("the failure has no fallback: %+v", o)
		}
	}
	for _, want := range []string{
		"Falling back to the fast path: no diarization for this file\n",
		"ADVICE: a larger device: 2.00 GiB are more than all of its 1.00 GiB\n",
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("expected %q in the log, found\n%s", want, log)
		}
	}
	if r.FastPath(errors.New("no model")) {
		t.Error("an error that is not out-of-memory takes the fast path")
	}
}

// TestEnrollOnAnotherDevice: checkpoints read one device, and the tensors are on another. The size
// of a batch depends on the free memory of the tensors' device, and a fault requests more memory
// than that device has.
func TestEnrollOnAnotherDevice(t *testing.T) {
	gpu, host := &device{total: 8 << 20}, &device{total: 64 << 20}
	r, _ := newRunner(gpu)
	e, sizes := host.enrollment(Batching{Size: 4, Memory: Fraction(8)})
	given, want := clips(1<<19, 1<<19, 1<<19, 1<<19) // 2 MiB each
	got, err := r.Enroll(t.Context(), e, given)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if diff := cmp.Diff([]int64{8 << 20}, *sizes); diff != "" {
		t.Errorf("batches of an eighth of the host, 8 MiB: %s", diff)
	}
	e.Fault = FaultOOMItem
	_, err = r.Enroll(t.Context(), e, given)
	if oom, ok := errors.AsType[*meter.OutOfMemoryError](err); !ok || oom.Requested != 130<<20 {
		t.Errorf("oom-item: found %v", err)
	}
}

func TestEnrollFails(t *testing.T) {
	d := &device{total: 1 << 30}
	r, _ := newRunner(d)
	given, _ := clips(10, 10)
	good, _ := d.enrollment(Batching{Size: 2})
	bad := errors.New("aborted")

	failing := good
	failing.Embed = func(context.Context, []float32) ([]float32, error) { return nil, bad }
	if _, err := r.Enroll(t.Context(), failing, given); !errors.Is(err, bad) ||
		err.Error() != "voice enrollment: clip 1 of 2: aborted" {
		t.Errorf("engine: found %v", err)
	}
	for _, empty := range [][][]float32{{{}}, {{1}, {}}} {
		if _, err := r.Enroll(t.Context(), good, empty); err == nil ||
			!strings.HasSuffix(err.Error(), "expected audio, found no samples") {
			t.Errorf("%v: found %v", empty, err)
		}
	}
	none := good
	none.Size = 0
	if _, err := r.Enroll(t.Context(), none, given); err == nil {
		t.Error("batches of 0: expected an error")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(bad)
	if _, err := r.Enroll(ctx, good, given); !errors.Is(err, bad) {
		t.Errorf("canceled: found %v", err)
	}
	if d.allocated != 0 {
		t.Errorf("%d bytes stay allocated, want none", d.allocated)
	}
	d.err = errors.New("driver shutting down")
	if _, err := r.Enroll(t.Context(), good, given); !errors.Is(err, d.err) {
		t.Errorf("unread device: found %v", err)
	}
}

// TestEnrollOnTheHost: on a real device, the meter counts a tensor while its clips are embedded,
// and not afterwards.
func TestEnrollOnTheHost(t *testing.T) {
	host, err := meter.OpenHost(meter.MallocFixed)
	if err != nil {
		t.Fatal(err)
	}
	r, _ := newRunner(nil)
	r.Device = host
	const samples = 1 << 20
	before := r.allocated()
	given, _ := clips(samples, samples/2, samples)
	e := Enrollment{
		Batching: Batching{Size: 3, Memory: Fraction(2)},
		Device:   host,
		Alloc:    HostTensor(host),
		Embed: func(_ context.Context, clip []float32) ([]float32, error) {
			if grown := r.allocated() - before; grown < 3*4*samples {
				t.Errorf("a tensor of %d bytes makes the ledger grow by %d", 3*4*samples, grown)
			}
			return clip[:1], nil
		},
	}
	if _, err := r.Enroll(t.Context(), e, given); err != nil {
		t.Fatal(err)
	}
	if stays := r.allocated() - before; stays > 64<<10 {
		t.Errorf("%d bytes stay allocated", stays)
	}
	e.Fault = FaultOOMItem
	if _, err := r.Enroll(t.Context(), e, given); err == nil {
		t.Error("oom-item: expected an error")
	}
}
