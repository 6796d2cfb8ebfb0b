package dialect

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
	"vramsoak/parser/stamp"
)

// memorySummaryDialect reads the table of torch.cuda.memory_summary(), whole or abbreviated:
//
//	|===========================================================================|
//	|                  PyTorch CUDA memory summary, device ID 0                 |
//	|---------------------------------------------------------------------------|
//	|            CUDA OOMs: 0            |        cudaMalloc retries: 0         |
//	|===========================================================================|
//	|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |
//	|---------------------------------------------------------------------------|
//	| Allocated memory      |   5624 MiB |   5673 MiB |  22536 MiB |  16911 MiB |
//	|       from large pool |   5543 MiB |   5589 MiB |   8875 MiB |   3332 MiB |
//
// If a notebook's cell ends with the call, the notebook shows the string's repr on one line:
//
//	'|===========================================================================|\n|                  PyTorch CUDA memory ...
//
// Older versions print MB and KB for the same units, and lack the row of requested memory. Sizes
// are rounded down (torch/cuda/memory.py, _format_size), see [lex.CutFloored].
var memorySummaryDialect = scan.Dialect{
	Name:    "memory-summary",
	Needles: []string{" memory summary, device ID "},
	Read:    readMemorySummary,
}

// memorySummaryRows are the table's rows for all pools, with the quantities of the columns Cur
// Usage and Peak Usage. [record.Quantities] as the second quantity means that the peak is not
// read.
var memorySummaryRows = []struct {
	label         string
	current, peak record.Quantity
}{
	{"Allocated memory", record.Allocated, record.Peak},
	{"Active memory", record.Active, record.Quantities},
	{"GPU reserved memory", record.Reserved, record.PeakReserved},
	{"Non-releasable memory", record.InactiveSplit, record.Quantities},
}

// memorySummaryLines is the most lines of a table that are read. Real tables have fewer.
const memorySummaryLines = 64

// readMemorySummary reads a table from its title on.
func readMemorySummary(l *scan.Line, at int) (end int) {
	if !bytes.HasPrefix(bytes.TrimLeft(l.Text[:at], " \t│"), []byte("|")) &&
		!bytes.Contains(l.Text[:at], []byte("| ")) {
		return 0
	}
	device, _, ok := lex.CutInt(bytes.TrimLeft(l.Text[at+len(" memory summary, device ID "):], " "))
	if !ok {
		return 0
	}
	c := l.Checkpoint(at, "memory summary")
	c.Lane.Device, c.Sampled = device, true
	if text, ok := l.Previous(1); ok && c.Time.IsZero() {
		// The table's first line has the logger's prefix, and in it the time.
		stamp.Find(text[:min(len(text), 256)]).Into(&c.Header)
	}
	rows := 0
	// With cudaMallocAsync the table has no totals, and its non-releasable memory is always 0.
	hasTotals := true
	repr, isRepr := lex.CutPrefix(
		bytes.TrimLeft(l.Text[at+len(" memory summary, device ID "):], " 0123456789"),
		`|\n|`,
	)
	for range memorySummaryLines {
		var text []byte
		if isRepr {
			text, repr, ok = bytes.Cut(repr, []byte(`\n`))
		} else {
			text, ok = l.Peek(1)
		}
		text = source.WithoutLogger(text[:min(len(text), 512)])
		bar := bytes.IndexByte(text, '|')
		if !ok || bar < 0 || bytes.Contains(text, []byte(" memory summary, ")) ||
			rows > 0 && bytes.Contains(text[bar:], []byte("|====")) {
			break
		}
		if !isRepr {
			l.Next()
		}
		cells := bytes.Split(text[bar+1:], []byte("|"))
		label := string(bytes.TrimSpace(cells[0]))
		for _, row := range memorySummaryRows {
			if row.label != label || len(cells) < 3 {
				continue
			}
			current, ok1 := lex.CutFloored(cells[1])
			peak, ok2 := lex.CutFloored(cells[2])
			if ok1 && !ok2 {
				c.Set(row.current, current)
			}
			if !ok1 || !ok2 {
				if c.Len() == 0 {
					l.Undo()
				}
				l.Bad(
					0,
					"a size such as 5624 MiB under Cur Usage and Peak Usage",
					"the rows behind it are left out",
				)
				return len(l.Text)
			}
			rows++
			if row.current == record.Allocated && len(cells) > 3 {
				total, ok := lex.CutFloored(cells[3])
				hasTotals = !ok || total.Bytes > 0 || current.Bytes == 0
			}
			if row.current != record.InactiveSplit || hasTotals {
				c.Set(row.current, current)
			}
			if row.peak != record.Quantities {
				c.Set(row.peak, peak)
			}
		}
	}
	if rows == 0 {
		l.Undo()
		l.Bad(0, "the rows of a memory summary", "the log was cut, or its lines were mixed with others")
	}
	if isRepr {
		return len(l.Text) - len(repr)
	}
	return len(l.Text)
}
