package parser

import "bytes"

// ganTrainingDialect is that of a guide to training in 16 GB and of the notebooks that follow it (winzerprince/sentio:
// ast/MEMORY_OPTIMIZATION_GUIDE.md, distilled-vit.ipynb):
//
//	GPU memory: 1.23 GB
//	Allocated: 1.23 GB
//	Reserved: 2.00 GB
//	Max allocated: 3.00 GB
//	✅ GAN config OK - 3.21 GB used
//	❌ OOM Error: CUDA out of memory. Tried to allocate 2.34 GiB (GPU 0; 15.90 GiB total capacity; ...)
//	   Current: GAN_BATCH_SIZE=24, BATCH_SIZE=12
//	  Max GPU memory: 1234.5 MB
//
// What is used is what is allocated (torch.cuda.memory_allocated). The three lines are one reading. A notebook begins with
// the device, whose memory it divides by 1e9:
//
//	GPU: Tesla P100-PCIE-16GB
//	GPU Memory: 17.1 GB
var ganTrainingDialect = dialect{
	name:    "gan-training",
	needles: []string{memoryLabel, "Max allocated: ", configOK, "OOM Error: ", deviceLabel},
	read: func(l *line, at int) int {
		switch text := l.text[at:]; {
		case text[0] == 'M':
			return readThreeLines(l, at)
		case text[0] == ' ':
			return readConfigOK(l, at)
		case text[0] == 'O':
			return readOOMError(l, at)
		case bytes.HasPrefix(text, []byte(deviceLabel)):
			return readDeviceMemory(l, at)
		}
		return readGPUMemory(l, at)
	},
}

const (
	memoryLabel = "GPU memory: "
	deviceLabel = "GPU Memory: "
	configOK    = " config OK - "
)

// readGPUMemory reads "GPU memory: 1.23 GB" and "Max GPU memory: 1234.5 MB". Others say so of the whole card and of what
// is free, with another word before it or other decimals.
func readGPUMemory(l *line, at int) (end int) {
	text := l.text[at+len(memoryLabel):]
	n, behind, ok := cutNumber(text)
	s, rest, okSize := cutSize(text, 0)
	if !ok || !okSize || s.Bytes < 0 || !bytes.HasPrefix(behind, []byte(" ")) || !endsField(rest) {
		return 0
	}
	q, from := Allocated, at
	switch {
	case n.decimals == 1 && bytes.HasSuffix(l.text[:at], []byte("Max ")):
		q, from = Peak, at-len("Max ")
	case n.decimals != 2:
		return 0
	}
	if from > messageStart(l.text[:from]) && startsWord(lastByte(l.text[:from])) {
		return 0
	}
	c := l.checkpoint(from, "GPU memory")
	c.Sampled = true
	c.Set(q, s)
	return len(l.text) - len(rest)
}

// lastByte is the last byte of a text that is no blank.
func lastByte(text []byte) []byte {
	text = bytes.TrimRight(text, " \t")
	return text[max(0, len(text)-1):]
}

// endsField says that no more of the reading follows: the line ends, or what a notebook's file puts around it.
func endsField(rest []byte) bool {
	return len(rest) == 0 || rest[0] == '\\' || rest[0] == '"' || rest[0] == ',' || rest[0] == ')' || rest[0] == '|' ||
		rest[0] == ' ' && (len(rest) == 1 || !startsWord(rest) && rest[1] != '/')
}

// readThreeLines reads the third of three lines, and the two before it.
func readThreeLines(l *line, at int) (end int) {
	peak, rest, ok := labelledSize(l.text, "Max allocated: ")
	before, okReserved := l.previous(1)
	first, okAllocated := l.previous(2)
	if !ok || !okReserved || !okAllocated {
		return 0
	}
	reserved, _, okReserved := labelledSize(before, "Reserved: ")
	allocated, _, okAllocated := labelledSize(first, "Allocated: ")
	if !okReserved || !okAllocated {
		return 0
	}
	c := l.checkpoint(at, "GPU memory")
	c.Sampled = true
	c.Set(Allocated, allocated)
	c.Set(Reserved, reserved)
	c.Set(Peak, peak)
	return len(l.text) - len(rest)
}

// labelledSize reads a line that is a label and a size.
func labelledSize(text []byte, label string) (s Size, rest []byte, ok bool) {
	i := bytes.Index(text, []byte(label))
	if i < 0 || i > 256 || len(bytes.TrimSpace(text[messageStart(text[:i]):i])) > 0 {
		return Size{}, nil, false
	}
	s, rest, ok = cutSize(text[i+len(label):], 0)
	return s, rest, ok && s.Bytes >= 0 && endsField(rest)
}

// readConfigOK reads "✅ GAN config OK - 3.21 GB used".
func readConfigOK(l *line, at int) (end int) {
	s, rest, ok := cutSize(l.text[at+len(configOK):], 0)
	rest, used := cutPrefix(rest, " used")
	name := bytes.TrimSpace(l.text[messageStart(l.text[:at]):at])
	if !ok || !used || s.Bytes < 0 || len(name) == 0 || len(name) > 64 {
		return 0
	}
	l.checkpoint(at, l.str(l.text[messageStart(l.text[:at]):at+len(" config")])).Set(Allocated, s)
	return len(l.text) - len(rest)
}

// readOOMError reads an error and, from the lines after it, the batch sizes that did not fit.
func readOOMError(l *line, at int) (end int) {
	message := l.text[at+len("OOM Error: "):]
	if len(bytes.TrimSpace(message)) == 0 || isTemplate(message) || inSource(l.text[:at]) {
		return 0
	}
	i := bytes.Index(message, []byte("out of memory"))
	if i < 0 || readOutOfMemory(l, at+len("OOM Error: ")+i) == 0 {
		l.add(OutOfMemory{Header: l.header(at), Text: l.message(at)})
	}
	o, ok := l.last().(OutOfMemory)
	for n := 1; ok && n <= 3; n++ {
		after, there := l.peek(n)
		if !there {
			break
		}
		if _, sizes, found := bytes.Cut(after, []byte("Current: ")); found && bytes.Contains(sizes, []byte("BATCH_SIZE=")) {
			o.Text = shorten(o.Text, 200) + " (" + l.str(unquoted(sizes[:min(len(sizes), 80)])) + ")"
			l.undo()
			l.put(o)
			break
		}
	}
	return len(l.text)
}

// readDeviceMemory reads the memory of the device in decimal GB, on the line after its name.
func readDeviceMemory(l *line, at int) (end int) {
	before, there := l.previous(1)
	if !there || !bytes.Contains(before[:min(len(before), 64)], []byte("GPU: ")) {
		return 0
	}
	n, behind, _ := cutNumber(l.text[at+len(deviceLabel):])
	s, rest, ok := cutDecimalSize(l.text[at+len(deviceLabel):])
	if !ok || s.Bytes <= 0 || n.decimals != 1 || !bytes.HasPrefix(behind, []byte(" GB")) || !endsField(rest) {
		return 0
	}
	c := l.checkpoint(at, "GPU")
	c.Sampled = true
	c.Set(Total, s)
	return len(l.text) - len(rest)
}
