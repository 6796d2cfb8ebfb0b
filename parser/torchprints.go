package parser

import "bytes"

// torchPrintDialect is that of the prints around torch.cuda.memory_allocated that tutorials and forums hand on, one block of
// lines a device:
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
// and, on one line, with the words behind the sizes:
//
//	  GPU Memory: 1.03 GB allocated, 1.27 GB reserved
//	[Step 10] GPU Memory: 3.10GB allocated, 3.52GB reserved, 3.30GB peak
//	  GPU 1: 5.12GB allocated, 5.60GB reserved, 79.10GB total
var torchPrintDialect = dialect{
	name: "torch-print",
	needles: []string{
		"Total memory: ", "Memory allocated: ", "Memory reserved: ", "Memory cached: ", "Memory Usage:", "B allocated, ",
	},
	read: readTorchPrint,
}

// torchPrintLabels begin the lines of a block, without the blanks before them.
var torchPrintLabels = []struct {
	label string
	q     Quantity
}{
	{"Total memory:", Total},
	{"Memory allocated:", Allocated},
	{"Memory reserved:", Reserved},
	{"Memory cached:", Reserved},
	{"Max memory allocated:", Peak},
	{"Max memory reserved:", PeakReserved},
	{"Free memory:", Free},
}

var forumPrintLabels = []struct {
	label string
	q     Quantity
}{
	{"Allocated:", Allocated},
	{"Cached:", Reserved},
	{"Reserved:", Reserved},
}

// torchPrintBlocks is how many devices are read together, under one title.
const torchPrintBlocks = 32

func readTorchPrint(l *line, at int) (end int) {
	if bytes.HasPrefix(l.text[at:], []byte("Memory Usage:")) {
		return readForumPrint(l, at)
	}
	if l.text[at] == 'B' {
		return readWordedPrint(l, at)
	}
	if _, _, ok := cutTorchPrint(l.text); !ok {
		return 0
	}
	name, sampled := []byte("GPU memory"), true
	device := 0
	if text, ok := l.previous(1); ok {
		if n, ok := cutGPU(text); ok {
			device = n
			text, _ = l.previous(2)
		}
		title, ok := bytes.CutSuffix(bytes.TrimSpace(text[:min(len(text), 256)]), []byte(":"))
		if ok && bytes.Contains(title, []byte("emory")) && len(title) < 64 {
			name, sampled = bytes.Clone(title), false
		}
	}
	for n := range torchPrintBlocks {
		c := l.checkpoint(at, l.str(name))
		c.Lane.Device, c.Sampled = device, sampled
		at = 0
		for {
			q, size, ok := cutTorchPrint(l.text)
			if _, has := c.Get(q); ok && !has {
				c.Set(q, size)
			}
			text, more := l.peek(1)
			if !more {
				break
			}
			if q, _, ok = cutTorchPrint(text); !ok {
				break
			}
			if _, has := c.Get(q); has {
				break
			}
			l.next()
		}
		if _, has := c.Get(Allocated); !has {
			if _, has = c.Get(Reserved); !has {
				l.undo() // a list of devices, or the host's memory
				if n == 0 {
					return 0
				}
				break
			}
		}
		text, _ := l.peek(1)
		next, ok := cutGPU(text)
		if !ok {
			break
		}
		device = next
		if text, ok = l.peek(2); !ok {
			break
		}
		if _, _, ok = cutTorchPrint(text); !ok {
			break
		}
		l.next()
		l.next()
	}
	return len(l.text)
}

// cutTorchPrint reads a line of a block. The unit is there, so that no other count is taken for a size.
func cutTorchPrint(text []byte) (q Quantity, s Size, ok bool) {
	text = bytes.TrimLeft(text[:min(len(text), 256)], " \t-*•")
	for _, p := range torchPrintLabels {
		if rest, ok := cutPrefix(text, p.label); ok {
			s, rest, ok = cutSize(rest, 0)
			return p.q, s, ok && s.Bytes >= 0 && len(bytes.TrimSpace(rest)) == 0
		}
	}
	return 0, Size{}, false
}

// cutGPU reads the line that names a device: "GPU 0: NVIDIA L40S".
func cutGPU(text []byte) (device int, ok bool) {
	rest, ok := cutPrefix(trimBlanks(text), "GPU ")
	if !ok {
		return 0, false
	}
	device, rest, ok = cutInt(rest)
	return device, ok && len(rest) > 0 && rest[0] == ':'
}

func readForumPrint(l *line, at int) (end int) {
	if len(bytes.TrimSpace(l.text[at+len("Memory Usage:"):])) > 0 {
		return 0
	}
	c := l.checkpoint(at, "Memory Usage")
	c.Sampled = true
	for range len(forumPrintLabels) {
		text, ok := l.peek(1)
		if !ok {
			break
		}
		text = trimBlanks(text)
		found := false
		for _, p := range forumPrintLabels {
			rest, ok := cutPrefix(text, p.label)
			if !ok {
				continue
			}
			if s, _, ok := cutSize(rest, 0); ok && s.Bytes >= 0 {
				c.Set(p.q, s)
				found = true
			}
		}
		if !found {
			break
		}
		l.next()
	}
	if c.Len() == 0 {
		l.undo()
		return 0
	}
	return len(l.text)
}

var wordedPrintWords = []struct {
	word string
	q    Quantity
}{
	{" allocated", Allocated},
	{" reserved", Reserved},
	{" cached", Reserved},
	{" peak", Peak},
	{" total", Total},
	{" free", Free},
}

// readWordedPrint reads sizes with their words behind them. At least what is allocated and what is reserved must stand
// there, as disks and budgets are allocated too.
func readWordedPrint(l *line, at int) (end int) {
	from := at
	for from > 0 && bytes.IndexByte([]byte("0123456789. KMGTi"), l.text[from-1]) >= 0 {
		from--
	}
	before := bytes.TrimRight(lastBytes(l.text[:from], near), " ")
	if len(before) == 0 || before[len(before)-1] != ':' {
		return 0
	}
	var r Reading
	rest := l.text[from:]
	for {
		s, behind, ok := cutSize(rest, 0)
		if !ok || s.Bytes < 0 {
			break
		}
		found := false
		for _, w := range wordedPrintWords {
			after, ok := cutPrefix(behind, w.word)
			if _, has := r.Get(w.q); !ok || has || len(after) > 0 && isWord(after[0]) {
				continue
			}
			r.Set(w.q, s)
			rest, found = after, true
			break
		}
		if !found {
			break
		}
		after, ok := cutPrefix(rest, ", ")
		if !ok {
			if after, ok = cutPrefix(rest, " / "); !ok {
				break
			}
		}
		rest = after
	}
	_, allocated := r.Get(Allocated)
	if _, reserved := r.Get(Reserved); !allocated || !reserved {
		return 0
	}
	c := l.checkpoint(from, "GPU memory")
	c.Reading, c.Sampled = r, true
	if i := bytes.LastIndex(before, []byte("GPU ")); i >= 0 {
		if device, ok := cutGPU(before[i:]); ok {
			c.Lane.Device = device
		}
	}
	return len(l.text) - len(rest)
}
