package dialect

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// torchPrintDialect reads the prints of torch.cuda.memory_allocated that tutorials and forums pass
// on. Each device has a block of lines:
//
//	GPU Memory before training:
//	GPU 0: NVIDIA L40S
//	  Total memory: 44.43 GB
//	  Memory allocated: 1.23 GB
//	  Memory reserved: 1.53 GB
//
//	Using device: cuda
//	Tesla T4
//	Memory Usage:
//	Allocated: 1.2 GB
//	Cached:    2.0 GB
//
// programs.yaml reads prints on one line.
var torchPrintDialect = scan.Dialect{
	Name: "torch-print",
	Needles: []string{
		"Total memory: ",
		"Memory allocated: ",
		"Memory reserved: ",
		"Memory cached: ",
		"Memory Usage:",
	},
	Read: readTorchPrint,
}

// torchPrintLabels are the labels at the beginning of a block's lines, behind blanks.
var torchPrintLabels = []struct {
	label string
	q     record.Quantity
}{
	{"Total memory:", record.Total},
	{"Memory allocated:", record.Allocated},
	{"Memory reserved:", record.Reserved},
	{"Memory cached:", record.Reserved},
	{"Max memory allocated:", record.Peak},
	{"Max memory reserved:", record.PeakReserved},
	{"Free memory:", record.Free},
}

// forumPrintLabels are the labels of the lines under "Memory Usage:".
var forumPrintLabels = []struct {
	label string
	q     record.Quantity
}{
	{"Allocated:", record.Allocated},
	{"Cached:", record.Reserved},
	{"Reserved:", record.Reserved},
}

// torchPrintBlocks is the most blocks that are read under one title. Each device has one block.
const torchPrintBlocks = 32

// readTorchPrint reads the blocks of all devices under one title. Each block gives a checkpoint,
// and the title becomes its name:
//
//	GPU Memory before training:
func readTorchPrint(l *scan.Line, at int) (end int) {
	if bytes.HasPrefix(l.Text[at:], []byte("Memory Usage:")) {
		return readForumPrint(l, at)
	}
	if _, _, ok := cutTorchPrint(l.Logged()); !ok {
		return 0
	}
	name, sampled := []byte("GPU memory"), true
	device := 0
	if text, ok := l.Previous(1); ok {
		if n, ok := cutGPU(source.WithoutLogger(text)); ok {
			device = n
			text, _ = l.Previous(2)
		}
		text = source.WithoutLogger(text)
		title, ok := bytes.CutSuffix(bytes.TrimSpace(text[:min(len(text), 256)]), []byte(":"))
		if ok && bytes.Contains(title, []byte("emory")) && len(title) < 64 {
			name, sampled = bytes.Clone(title), false
		}
	}
	for n := range torchPrintBlocks {
		c := l.Checkpoint(at, l.Str(name))
		c.Lane.Device, c.Sampled = device, sampled
		at = 0
		for {
			q, size, ok := cutTorchPrint(l.Logged())
			if _, has := c.Get(q); ok && !has {
				c.Set(q, size)
			}
			text, more := l.Peek(1)
			if !more {
				break
			}
			if q, _, ok = cutTorchPrint(source.WithoutLogger(text)); !ok {
				break
			}
			if _, has := c.Get(q); has {
				break
			}
			l.Next()
		}
		if _, has := c.Get(record.Allocated); !has {
			if _, has = c.Get(record.Reserved); !has {
				l.Undo() // a list of devices, or the host's memory
				if n == 0 {
					return 0
				}
				break
			}
		}
		text, _ := l.Peek(1)
		next, ok := cutGPU(source.WithoutLogger(text))
		if !ok {
			break
		}
		device = next
		if text, ok = l.Peek(2); !ok {
			break
		}
		if _, _, ok = cutTorchPrint(source.WithoutLogger(text)); !ok {
			break
		}
		l.Next()
		l.Next()
	}
	return len(l.Text)
}

// cutTorchPrint cuts a label and a size of a block off the text. The size must have a unit,
// because another program may print a count behind the same label.
func cutTorchPrint(text []byte) (q record.Quantity, s record.Size, ok bool) {
	text = bytes.TrimLeft(text[:min(len(text), 256)], " \t-*•")
	for _, p := range torchPrintLabels {
		if rest, ok := lex.CutPrefix(text, p.label); ok {
			s, rest, ok = lex.CutSize(rest, 0)
			return p.q, s, ok && s.Bytes >= 0 && len(bytes.TrimSpace(rest)) == 0
		}
	}
	return 0, record.Size{}, false
}

// cutGPU returns the device that a line names: "GPU 0: NVIDIA L40S".
func cutGPU(text []byte) (device int, ok bool) {
	rest, ok := lex.CutPrefix(lex.TrimBlanks(text), "GPU ")
	if !ok {
		return 0, false
	}
	device, rest, ok = lex.CutInt(rest)
	return device, ok && len(rest) > 0 && rest[0] == ':'
}

// readForumPrint reads the lines under "Memory Usage:".
func readForumPrint(l *scan.Line, at int) (end int) {
	if len(bytes.TrimSpace(l.Text[at+len("Memory Usage:"):])) > 0 {
		return 0
	}
	c := l.Checkpoint(at, "Memory Usage")
	c.Sampled = true
	for range len(forumPrintLabels) {
		text, ok := l.Peek(1)
		if !ok {
			break
		}
		text = lex.TrimBlanks(source.WithoutLogger(text))
		found := false
		for _, p := range forumPrintLabels {
			rest, ok := lex.CutPrefix(text, p.label)
			if !ok {
				continue
			}
			if s, _, ok := lex.CutSize(rest, 0); ok && s.Bytes >= 0 {
				c.Set(p.q, s)
				found = true
			}
		}
		if !found {
			break
		}
		l.Next()
	}
	if c.Len() == 0 {
		l.Undo()
		return 0
	}
	return len(l.Text)
}
