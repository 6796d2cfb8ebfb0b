package dialect

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// peftDialect reads PEFT's benchmark of text generation, which lists levels in MB. programs.yaml
// has the lines of PEFT's examples and of its other benchmarks:
//
//	{
//	  "stage": "peft_model_loaded",
//	  "ram_mb": 2861.2,
//	  "accelerator_allocated_mb": 6134.3,
//	  "accelerator_reserved_mb": 6172.0
//	}
var peftDialect = scan.Dialect{
	Name:    "peft",
	Needles: []string{needlePeftStage},
	Read:    readPeftStage,
}

const needlePeftStage = `"accelerator_allocated_mb": `

// readPeftStage reads an entry of memory_logs. The parameter at is the offset of
// "accelerator_allocated_mb". The stage is on a line above, the reserved memory on a line below.
func readPeftStage(l *scan.Line, at int) (end int) {
	cut := func(text []byte, label string) (record.Size, bool) {
		i := bytes.Index(text, []byte(label))
		if i < 0 {
			return record.Size{}, false
		}
		n, _, ok := lex.CutFloat(lex.TrimBlanks(text[i+len(label):]))
		s, fits := n.Times(record.MiB)
		s.Resolution = 0 // Python prints all digits of the float
		return s, ok && fits && n.Digits >= 0
	}
	allocated, ok := cut(l.Text, needlePeftStage)
	if !ok {
		return 0
	}
	name := "memory"
	for n := 1; n <= 2; n++ {
		text, _ := l.Previous(n)
		if _, rest, ok := bytes.Cut(text, []byte(`"stage": "`)); ok {
			stage, _, _ := bytes.Cut(rest, []byte(`"`))
			name = l.Str(stage[:min(len(stage), scan.NameMax)])
		}
	}
	c := l.Checkpoint(at, name)
	c.Set(record.Allocated, allocated)
	if text, ok := l.Peek(1); ok {
		if s, ok := cut(text, `"accelerator_reserved_mb": `); ok {
			l.Next()
			c.Set(record.Reserved, s)
		}
	}
	return len(l.Text)
}
