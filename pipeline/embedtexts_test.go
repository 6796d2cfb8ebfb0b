package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
)

// textEmbedding returns a text embedding on the test's device, and a list that gets the size of
// each batch. The embedding of a text is its length.
func (d *device) textEmbedding(size int) (e TextEmbedding, sizes *[]int) {
	sizes = new([]int)
	enrollment, _ := d.enrollment(Batching{})
	return TextEmbedding{
		Size: size, Device: d, Alloc: enrollment.Alloc,
		Embed: func(_ context.Context, texts []string) (embeddings [][]float32, err error) {
			*sizes = append(*sizes, len(texts))
			for _, text := range texts {
				embeddings = append(embeddings, []float32{float32(len(text))})
			}
			return embeddings, nil
		},
	}, sizes
}

// texts returns n texts of lengths 1 to n, and the embeddings expected for them.
func texts(n int) (texts []string, embeddings [][]float32) {
	for i := 1; i <= n; i++ {
		texts = append(texts, strings.Repeat("x", i))
		embeddings = append(embeddings, []float32{float32(i)})
	}
	return texts, embeddings
}

func TestEmbedTextsInBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{total: 1 << 30}
		r, log := newRunner(d)
		e, sizes := d.textEmbedding(3)
		e.ClearEvery = 2
		given, want := texts(10)
		got, err := r.EmbedTexts(t.Context(), e, given)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
		if diff := cmp.Diff([]int{3, 3, 3, 1}, *sizes); diff != "" {
			t.Error(diff)
		}
		// Batches of voice enrollment are counted separately.
		enrollment, _ := d.enrollment(Batching{Size: 1, ClearEvery: 2})
		clips, _ := clips(1, 1, 1)
		if _, err := r.Enroll(t.Context(), enrollment, clips); err != nil {
			t.Fatal(err)
		}
		expectLog(t, log, `
2000-01-01T00:00:00.000Z Cleared GPU cache after 2 batches of text embedding
2000-01-01T00:00:00.000Z Cleared GPU cache after text embedding
2000-01-01T00:00:00.000Z Cleared GPU cache after 2 batches of voice enrollment
2000-01-01T00:00:00.000Z Cleared GPU cache after voice enrollment
`)
		log.Reset()
		if got, err := r.EmbedTexts(t.Context(), e, nil); err != nil || len(got) != 0 ||
			log.Len() > 0 {
			t.Errorf("no texts: found %v, %v, log %q", got, err, log)
		}
	})
}

// TestEmbedTextsHalves: if memory runs out, the batch is halved until it fits. The engine did not
// say how much it asked for, so the advice has no bytes.
func TestEmbedTextsHalves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{allocated: 1000, total: 1 << 30}
		r, log := newRunner(d)
		e, sizes := d.textEmbedding(8)
		embed := e.Embed
		e.Embed = func(ctx context.Context, texts []string) ([][]float32, error) {
			if len(texts) > 2 {
				return nil, fmt.Errorf("onnxruntime: %w",
					&meter.OutOfMemoryError{Reading: d.reading()})
			}
			return embed(ctx, texts)
		}
		given, want := texts(9)
		got, err := r.EmbedTexts(t.Context(), e, given)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
		if diff := cmp.Diff([]int{2, 2, 2, 2, 1}, *sizes); diff != "" {
			t.Error(diff)
		}
		for _, want := range []string{
			"Attempting GPU recovery and retry with smaller batch: 4 of 8 texts\n",
			"Attempting GPU recovery and retry with smaller batch: 2 of 4 texts\n",
			"ADVICE: smaller batches: 8 texts did not fit, batches of 2 did (--text-batch 2); that " +
				"alone is enough\n",
		} {
			if strings.Count(log.String(), want) != 1 {
				t.Errorf("expected %q once in the log, found\n%s", want, log)
			}
		}
		if n := readLog(t, log).Failures; n != 2 {
			t.Errorf("the parser finds %d failures, want 2", n)
		}
	})
}

// TestEmbedTextsFaults: with FaultOOMTextBatch only single texts fit. With FaultOOMTextItem no text
// fits, and the file goes on without the embeddings. Faults of enrollment do nothing here.
func TestEmbedTextsFaults(t *testing.T) {
	d := &device{total: 1 << 30}
	r, log := newRunner(d)
	e, sizes := d.textEmbedding(4)
	given, want := texts(3)
	for fault, batches := range map[Fault][]int{
		FaultOOMTextBatch: {1, 1, 1}, FaultOOMItem: {3}, FaultOOMBatch: {3},
	} {
		e.Fault, *sizes = fault, nil
		got, err := r.EmbedTexts(t.Context(), e, given)
		if err != nil || cmp.Diff(want, got) != "" || cmp.Diff(batches, *sizes) != "" {
			t.Errorf("%s: found %v, %v in batches of %v", fault, got, err, *sizes)
		}
	}
	enrollment, _ := d.enrollment(Batching{Size: 4})
	enrollment.Fault = FaultOOMTextItem
	clips, _ := clips(1, 2)
	if _, err := r.Enroll(t.Context(), enrollment, clips); err != nil {
		t.Errorf("enrollment: found %v", err)
	}
	e.Fault = FaultOOMTextItem
	_, err := r.EmbedTexts(t.Context(), e, given)
	if oom, ok := errors.AsType[*meter.OutOfMemoryError](err); !ok || oom.Requested != 2<<30 ||
		!strings.HasPrefix(err.Error(), "text embedding: text 1 of 3: out of memory. ") {
		t.Errorf("oom-text-item: found %v", err)
	}
	log.Reset()
	b := &Batch{Runner: r, First: 1, Work: func(ctx context.Context, _ *Scope, _ File) error {
		_, err := r.EmbedTexts(ctx, e, given)
		if err != nil && r.WithoutText(err) {
			return nil
		}
		return err
	}}
	if result, err := b.Run(t.Context(), feed("a.wav")); err != nil || result.Failed != 0 {
		t.Errorf("found %+v, %v", result, err)
	}
	tl := readLog(t, log)
	// The batches of 3 texts and of 1 text failed.
	if len(tl.Files) != 1 || tl.Files[0].Status != record.StatusOK || len(tl.Files[0].OOMs) != 2 {
		t.Fatalf("the parser reads the log as %+v", tl.Files)
	}
	for _, o := range tl.Files[0].OOMs {
		if !o.Fallback {
			t.Errorf("the failure has no fallback: %+v", o)
		}
	}
	for _, want := range []string{
		"Continuing without text embeddings for this file\n",
		"ADVICE: a larger device: 2.00 GiB are more than all of its 1.00 GiB\n",
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("expected %q in the log, found\n%s", want, log)
		}
	}
	if r.WithoutText(errors.New("no model")) {
		t.Error("an error that is not out-of-memory drops the embeddings")
	}
}

func TestEmbedTextsFails(t *testing.T) {
	d := &device{total: 1 << 30}
	r, _ := newRunner(d)
	given, _ := texts(3)
	bad := errors.New("aborted")
	e, _ := d.textEmbedding(2)
	embed := e.Embed
	e.Embed = func(ctx context.Context, texts []string) ([][]float32, error) {
		if len(texts) == 1 {
			return nil, bad
		}
		return embed(ctx, texts)
	}
	if v, err := r.EmbedTexts(t.Context(), e, given); !errors.Is(err, bad) || v != nil ||
		err.Error() != "text embedding: text 3 of 3: aborted" {
		t.Errorf("engine: found %v, %v", v, err)
	}
	none, _ := d.textEmbedding(0)
	if _, err := r.EmbedTexts(t.Context(), none, given); err == nil ||
		err.Error() != "text embedding: expected batches of 1 text or more, found 0" {
		t.Errorf("batches of 0: found %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(bad)
	good, _ := d.textEmbedding(2)
	if _, err := r.EmbedTexts(ctx, good, given); !errors.Is(err, bad) {
		t.Errorf("canceled: found %v", err)
	}
}
