package dialect

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// torchtitanDialect is that of torchtitan (torchtitan/components/metrics.py), which prints the largest reserved memory since
// the last step that it printed, in GiB:
//
//	[rank0]:[titan] 2025-11-25 19:44:58,837 - root - INFO - CUDA memory usage for model: 3.77GiB(2.70%)
//	[titan] INFO - step:  1  loss: 12.74905  grad_norm: 13.0331  memory: 63.93GiB(22.20%)  tps: 456  tflops: 24.00  mfu: 0.96%
//	CUDA capacity: NVIDIA GB300 with 276.50GiB memory
var torchtitanDialect = scan.Dialect{
	Name:    "torchtitan",
	Needles: []string{"GiB(", "GiB memory"},
	Read:    readTorchtitan,
}

func readTorchtitan(l *scan.Line, at int) (end int) {
	from := at
	for from > 0 && at-from < 20 && (lex.IsDigit(l.Text[from-1]) || l.Text[from-1] == '.') {
		from--
	}
	n, _, ok := lex.CutNumber(l.Text[from:at])
	size, fits := n.Times(record.GiB)
	if !ok || !fits {
		return 0
	}
	head := bytes.TrimRight(l.Text[:from], " ")
	name := "step"
	q := record.PeakReserved
	switch {
	case l.Text[at+len("GiB")] == ' ':
		name, q = "capacity", record.Total
		if !bytes.HasSuffix(head, []byte(" with")) || !bytes.Contains(head, []byte(" capacity: ")) {
			return 0
		}
	case bytes.HasSuffix(head, []byte("memory usage for model:")):
		name = "model"
	case !bytes.HasSuffix(head, []byte("memory:")):
		return 0
	case bytes.Contains(head, []byte("validate step:")):
		name = "validate step"
	case !bytes.Contains(head, []byte("step:")):
		return 0
	}
	c := l.Checkpoint(from, name)
	c.Sampled = true
	c.Lane.Rank = rankBefore(head)
	c.Set(q, size)
	return at + len("GiB(")
}
