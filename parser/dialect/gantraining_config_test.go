package dialect

import (
	"testing"

	"vramsoak/parser/dialect/dialecttest"
)

// TestConfigTest reads a notebook's test of its own configuration. 3.21 GB are 3446711255 bytes,
// and 2.34 GiB are 2512555868.
func TestConfigTest(t *testing.T) {
	const oom = "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 16.00 GiB total capacity; " +
		"13.00 GiB already allocated; 1.00 GiB free; 14.00 GiB reserved in total by PyTorch)"
	const sizes = " requested=2048MiB"
	const reading = " allocated=13312MiB reserved=14336MiB total=16384MiB free=1024MiB\n"
	dialecttest.Run(t, BuiltIn(), []dialecttest.Case{
		{"ok", `
✅ GAN config OK - 3.21 GB used
2025-09-01 12:00:00,123 - notebook - INFO - ViT config OK - 512 MB used
GAN config OK: 3.00 GB used
ViT config ok (4.00 GB peak)
` + "\x1b[32mGAN config OK - 1.00 GB used\x1b[0m", `
1 checkpoint "GAN config" allocated=3446711255B
2 checkpoint "ViT config" allocated=512MiB
3 checkpoint "GAN config" allocated=3072MiB
4 checkpoint "ViT config" peak=4096MiB
5 checkpoint "GAN config" allocated=1024MiB
`},
		{"failed", `
❌ GAN config FAILED: ` + oom + `
ViT config failed - ` + oom + `
GAN config FAILED: RuntimeError: ` + oom + `
❌ ViT config FAILED: out of memory
ViT config FAILED (OOM)
❌ GAN config FAILED: OOM Error: ` + oom, `
1 out-of-memory` + sizes + " stage=GAN config" + reading +
			"2 out-of-memory" + sizes + " stage=ViT config" + reading +
			"3 out-of-memory" + sizes + " stage=GAN config" + reading +
			"4 out-of-memory requested=0MiB stage=ViT config\n" +
			"5 out-of-memory requested=0MiB stage=ViT config\n" +
			"6 out-of-memory" + sizes + " stage=GAN config" + reading},
		{"suggested", `
   Suggested: GAN_BATCH_SIZE=12, BATCH_SIZE=6
Suggested: GAN batch size 24, ViT batch size 12
2025-09-01 12:00:00,123 - INFO - 💡 Suggested: batch_size=16
Suggested batch size: 8
      "   Suggested: GAN_BATCH_SIZE=12, BATCH_SIZE=6\n",
`, `
1 event suggestion "GAN_BATCH_SIZE=12, BATCH_SIZE=6"
2 event suggestion "GAN batch size 24, ViT batch size 12"
3 event suggestion "batch_size=16"
4 event suggestion "batch size: 8"
5 event suggestion "GAN_BATCH_SIZE=12, BATCH_SIZE=6"
`},
		{"nothing", `
network config OK - 3 nodes used
Config OK - Model: gpt-4
print(f"✅ GAN config OK - {torch.cuda.memory_allocated()/1024**3:.2f} GB used")
GAN config FAILED: RuntimeError: mat1 and mat2 shapes cannot be multiplied
nginx config FAILED: out of disk space
The GAN config failed the review
print(f"   Suggested: GAN_BATCH_SIZE={GAN_BATCH_SIZE//2}, BATCH_SIZE={BATCH_SIZE//2}")
Suggested: read the manual
Suggested: a smaller batch size
Reviewers suggested: batch size 12 would be enough
Suggested reading: batch size 12 and generalization
`, ""},
	})
}
