package failure_test

import (
	"strings"
	"testing"

	"vramsoak/parser/dialect"
	"vramsoak/parser/dialect/dialecttest"
)

// TestBatchSize: a failed allocation gets the batch size that its line or a line near it gives.
func TestBatchSize(t *testing.T) {
	const oom = "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB\n"
	for _, c := range []struct{ name, log, want string }{
		{"none", oom, ""},
		{"on its line", "RESULT: CUDA OUT OF MEMORY  batch=256\n", "256"},
		{"behind it", oom + "⚠️  Device: cuda, Batch size: 4, Batch num: 11\n", "4"},
		{"before it", "Processing 500 segments in 125 batches of 8\n" + oom, "8"},
		{"too far away", "Processing 500 segments in 125 batches of 8\n\n\n\n" + oom, ""},
		{"the number of a batch", "batch=7\n" + oom, ""},
		{"the next size", oom + "Retrying with batch_size=16\n", ""},
		{"the size that is tried next", oom + "Suggested: batch_size=16\n", ""},
		{"the next size on its line", "WARNING: GPU ran out of memory, going on with batches of 4\n", ""},
		{"of two models", oom + "Current: GAN_BATCH_SIZE=24, BATCH_SIZE=12\n", ""},
		{"of two models, equal", oom + "Current: GAN_BATCH_SIZE=24, BATCH_SIZE=24\n", "24"},
		{
			"of the model that failed",
			"GAN config FAILED: " + oom + "Current: GAN_BATCH_SIZE=24, BATCH_SIZE=12\n", "24",
		},
		{
			"of the other model that failed",
			"ViT config FAILED: " + oom + "Current: GAN_BATCH_SIZE=24, BATCH_SIZE=12\n", "12",
		},
	} {
		got := ""
		show := dialecttest.Show(t, dialecttest.Batches(c.log, dialect.BuiltIn()))
		if _, rest, ok := strings.Cut(show, " batch="); ok {
			got, _, _ = strings.Cut(strings.TrimSpace(rest), " ")
			got, _, _ = strings.Cut(got, "\n")
		}
		if got != c.want {
			t.Errorf("%s: got batch size %q, want %q: %s", c.name, got, c.want, show)
		}
	}
}
