package dialect

import (
	"testing"

	"vramsoak/parser/dialect/dialecttest"
)

// TestPrintedRecovery reads the share of memory that a program says it freed. 7.05 GB are
// 7569879859 bytes.
func TestPrintedRecovery(t *testing.T) {
	const checkpoint = "[GPU Memory] A: Allocated: 1.00GB\n"
	dialecttest.Run(t, BuiltIn(), []dialecttest.Case{
		{"printed", `
Memory recovered: 7.00GB (97%)
2026-01-10 02:14:07,123 - pipeline - INFO - ✅ GPU memory recovered: 7.05 GB (97.5 %)
[GPU Memory] Memory recovered: 512 MB (96%)
Memory recovered: 97% (7.00GB)
MEMORY RECOVERED: 7.00 GB of 8.00 GB (87.5%)
GPU memory recovered: 2 GiB
` + checkpoint + "Memory recovered: 97%\n" + checkpoint + "Memory recovered: 1.00 GB", `
1 change "Memory recovered" allocated=7168MiB percent=97
2 change "Memory recovered" allocated=7569879859B percent=97.5
3 change "Memory recovered" allocated=512MiB percent=96
4 change "Memory recovered" allocated=7168MiB percent=97
5 change "Memory recovered" allocated=7168MiB percent=87.5
6 change "Memory recovered" allocated=2048MiB
7 checkpoint "A" allocated=1024MiB
8 change "Memory recovered" percent=97
9 checkpoint "A" allocated=1024MiB
10 change "Memory recovered" allocated=1024MiB
`},
		{"not printed", `
print(f"Memory recovered: {recovered:.2f}GB ({percent:.0f}%)")
Redis memory recovered: 72.3%
memory recovered: 512 MB available
Memory recovered: 12.34 MB
Nodes Purged: 3 | Memory Recovered: 1024 bytes
Memory recovered: Your mother humming while repairing a broken radio
GPU memory recovered: GPU 0 at 12 %
MEMORY RECOVERED: 6144MB free. Resuming 2B server.
**Good Cleanup** (>95% memory recovered):
`, ""},
	})
}
