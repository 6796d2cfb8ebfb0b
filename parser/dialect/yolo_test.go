package dialect

import (
	"strings"
	"testing"

	"vramsoak/parser/dialect/dialecttest"
	"vramsoak/parser/scan"
)

const yoloHead = "      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size\n"

// TestYolo: a row gives its memory only below the header, and rows without a header give one error.
// A logger's prefix may precede both.
func TestYolo(t *testing.T) {
	const bad = `unreadable: expected the header of such rows before them, ` +
		`"Epoch  GPU_mem  box_loss ...", found `
	dialecttest.Run(t, []*scan.Dialect{&yoloDialect}, []dialecttest.Case{
		{"behind a logger's prefix", `
2026-11-20 02:00:03,123 - INFO - ` + yoloHead + `
2026-11-20 02:00:03,124 - INFO -         1/3         4G     1.2     1.3     1.4     10     640
INFO:ultralytics:        2/3         5G     1.2     1.3     1.4     10     640
the step 3/3 6G 1 2 3
2026-01-25 17:25:40.123 | INFO     | train:log:12 -       3/3         6G     1.2     1.3     1.4
`, `
3 checkpoint "epoch" reserved=4000000000B
4 checkpoint "epoch" reserved=5000000000B
6 checkpoint "epoch" reserved=6000000000B
`},
		{"rows behind the version, without the header", `
Ultralytics 8.3.100 Python-3.11.12 torch-2.6.0+cu124 CUDA:0 (Tesla T4, 15095MiB)
        1/3         4G     1.2     1.3     1.4     10     640
        2/3         5G     1.2     1.3     1.4     10     640
` + yoloHead + `        3/3         6G     1.2     1.3     1.4     10     640
`, `
2 ` + bad + `"1/3         4G     1.2     1.3     1.4     10     640"
5 checkpoint "epoch" reserved=6144MiB
`},
		{"rows above the scores, without the header", `
        1/3         4G     1.2     1.3     1.4     10     640
                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95)
                   all          4         17      0.704      0.526      0.631      0.447
        2/3         5G     1.2     1.3     1.4     10     640
                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95)
`, `
1 ` + bad + `"1/3         4G     1.2     1.3     1.4     10     640"
`},
		{"scores of a validation alone", `
                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95)
                   all          4         17      0.704      0.526      0.631      0.447
`, ``},
		{"copied parts are no rows", `
Ultralytics 8.3.100 Python-3.11.12 torch-2.6.0+cu124 CUDA:0 (Tesla T4, 15095MiB)
1/2 4.5G of space
`, ``},
	})
}

// TestFindHeadless: the first row of a table without its header is found in a log without readings.
func TestFindHeadless(t *testing.T) {
	const yolo = "        1/3         4G     1.2     1.3     1.4     10     640\n"
	const csv = "2026/11/20 02:00:01.123, 0, 12345\n"
	for _, c := range []struct {
		name, log, dialect string
		line               int
	}{
		{"YOLO", "starting\n" + yolo, "yolo", 2},
		{"YOLO, in pieces of a line", "starting\n 0%\r" + yolo, "yolo", 2},
		{"nvidia-smi", csv + yolo, "nvidia-smi-csv", 1},
		{"YOLO before nvidia-smi", yolo + csv, "yolo", 1},
		{"none", "1/3 4G\n" + strings.Repeat("/", 300) + "\n", "", 0},
	} {
		bad, ok := FindHeadless([]byte(c.log), "run.log")
		if ok != (c.line > 0) || bad.Pos.Line != c.line || bad.Dialect != c.dialect {
			t.Errorf("%s: got %t, %s, %v", c.name, ok, bad.Dialect, bad)
		}
	}
}
