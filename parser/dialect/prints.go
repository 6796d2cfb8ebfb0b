package dialect

import (
	"bytes"
	"slices"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// printDialect reads what people print in scripts of their own, without a program that fixes the
// format. It reads a label in words that it knows, a number and a unit:
//
//	GPU memory allocated: 1.23 GB
//	Loading done - GPU memory allocated = 1.25 GiB, reserved = 2.00 GiB
//	🧹 Before Cleanup: Allocated: 0.10GB | Reserved: 0.20GB
//	GPU Memory After Whisper: 1.25GB allocated
//	Peak VRAM: 3.2 GB
//
// It also reads fields, which have their unit in the key (see prints_names.go for the name):
//
//	2026-01-10 02:14:07 [info     ] After Whisper    allocated_mb=512.3 reserved_mb=1024.0
//	{"checkpoint": "After Whisper", "gpu_memory_allocated_mb": 512.3, "gpu": 1}
//
// Each word of a label must be known. So "KV cache memory: 3 GB" and "Estimated VRAM: 3 GB" are not
// read, because "cache" and "estimated" are unknown. A label without a word such as "allocated" or
// "peak" may be the size of the card ("GPU memory: 24 GB"). It is read only where the line says
// when the memory was measured ("GPU memory after loading: 1.2 GB").
var printDialect = scan.Dialect{
	Name: "print",
	Needles: []string{
		"emory allocated", "emory Allocated", "EMORY ALLOCATED", "emory_allocated", "emoryAllocated",
		"emory reserved", "emory Reserved", "EMORY RESERVED", "emory_reserved", "emoryReserved",
		"emory used", "emory Used", "mem_allocated", "mem allocated", "Mem allocated",
		"llocated memory", "llocated Memory", "LLOCATED MEMORY", "allocated_", "llocatedM",
		"eserved memory", "eserved Memory", "ESERVED MEMORY", "reserved_",
		"GPU mem", "GPU Mem", "GPU MEM", "gpu mem", "Gpu mem", "Gpu Mem", "gpu_mem", "GPU_mem", "GPU_MEM",
		"gpuMem", "GPU peak", "GPU Peak", "gpu_peak", "evice memory", "evice Memory",
		"CUDA mem", "CUDA Mem", "CUDA MEM", "cuda mem", "cuda_mem",
		"VRAM", "Vram", "vram:", "vram ", "vram=", "vram_",
		"llocated:", "llocated=", "llocated =", `llocated"`, "LLOCATED:", "B allocated", "B Allocated",
		"B used", "B reserved",
	},
	Last: true,
	Read: readPrint,
}

// Limits of the reader. A line may be long and full of needles.
const (
	printMax        = 2 << 10 // bytes of a line, from the message on
	printLabelMax   = 256     // bytes of a label
	printItemsMax   = 16      // sizes in a line
	printNumbersMax = 16      // numbers in a row that are no sizes, behind the needle
	printLinesMax   = 8       // lines of a block
	printDevicesMax = 64      // devices of a line
)

// readPrint reads the sizes of a line, and those of the lines below it that go on with other
// quantities:
//
//	GPU memory allocated: 1.23 GB
//	GPU memory reserved: 2.00 GB
//
// If it finds no size, it returns the offset up to which it looked. So a line with many needles
// takes no time for each of them.
func readPrint(l *scan.Line, at int) (end int) {
	if near := l.Text[max(0, at-24):min(len(l.Text), at+128)]; !bytes.ContainsAny(near, "0123456789") {
		return 0 // words in a sentence
	}
	h := l.Head(at)
	from := max(at-len(h.Words()), l.Read)
	p := parsePrint(l.Text, from, at, l.Read)
	if len(p.items) == 0 {
		return p.seen
	}
	if isCode(l, at, p.items[0].start) || p.items[0].isSizeOfCard(l.Text) ||
		!startsMoment(p.before) && mentionsPlan(p.before) {
		return 0
	}
	title := printTitle(l, p.before)
	titled, _ := contextOf(title)
	p.context |= titled
	items, lines := p.items, 0
	for lines < printLinesMax && p.alone && !p.items[0].label.isKey {
		text, ok := l.Peek(lines + 1)
		if !ok {
			break
		}
		if titled == 0 && p.items[0].label.words&(saysGPU|saysMemory) == 0 {
			break // another dialect may know the block
		}
		start := messageStart(text)
		if !samePrefix(l.Text[:from], text[:start]) {
			break
		}
		next := parsePrint(text, start, start, 0)
		if !next.goesOn(items) || next.lane != p.lane ||
			!bytes.Equal(source.WriterIn(text[:start]), source.WriterIn(l.Text[:from])) {
			break
		}
		items, lines = append(slices.Clip(items), next.items...), lines+1
	}
	own := len(p.items)
	kept := acceptItems(items, own, p.context, mentionsHost(l.Text[:p.items[0].start]))
	if len(kept) == 0 {
		return 0
	}
	devices := parseDevices(l.Text, &p)
	if n := len(devices); n > 0 {
		p.behind = devices[n-1].behind
	}
	name, sampled := p.name(l.Text, at, title)
	addPrint(l, at, &p, kept, name, sampled)
	end = p.end
	for i := range devices {
		next := &devices[i]
		end = next.end
		context := p.context | next.context | p.items[0].label.words
		kept = acceptItems(next.items, len(next.items), context, mentionsHost(next.before))
		if len(kept) == 0 {
			continue
		}
		named, ofStep := name, sampled
		if moment := next.items[0].label.moment; moment != nil {
			named, ofStep = moment, false
		}
		addPrint(l, at, next, kept, named, ofStep)
	}
	if lines == 0 {
		return end
	}
	for range lines {
		l.Next()
	}
	return len(l.Text)
}

// parseDevices returns the sizes of the line's other devices, behind those of p.
func parseDevices(text []byte, p *printLine) (devices []printLine) {
	for more := p.more; more > 0 && len(devices) < printDevicesMax; {
		next := printLine{indexed: p.indexed, first: p.first}
		next.parse(text, more, more, more)
		if len(next.items) == 0 {
			break
		}
		devices = append(devices, next)
		more = next.more
	}
	return devices
}

// addPrint adds the checkpoint of the items of a line.
func addPrint(l *scan.Line, at int, p *printLine, kept []printItem, name []byte, sampled bool) {
	c := l.Checkpoint(at, "GPU memory")
	c.Sampled, c.Lane.Rank = true, l.Head(at).Rank()
	if len(name) > 0 {
		c.Name, c.Sampled = l.Str(name), sampled
	}
	setLane(&c.Lane, p)
	for i := range kept {
		c.Set(kept[i].q, kept[i].size)
	}
}

// isCode reports whether the label at an offset of a line is program source, or a text that a
// program only quotes.
func isCode(l *scan.Line, at, start int) bool {
	text := l.Text[start:min(len(l.Text), start+printMax)]
	if source.HasPlaceholder(text) || source.InSource(l.Text[:at]) {
		return true
	}
	if isField(l.Text, at) {
		return false
	}
	return source.IsQuoted(l.Text, at) ||
		bytes.Count(lex.LastBytes(l.Text[:at], printMax), []byte("`"))%2 == 1 // Markdown
}

// isField reports whether the word at an offset is the quoted key of a field, in JSON or in a
// printed dict: 'allocated_mb': 512.3.
func isField(text []byte, at int) bool {
	for at > 0 && isKeyByte(text[at-1]) {
		at--
	}
	end := at
	for end < len(text) && isKeyByte(text[end]) {
		end++
	}
	if at == 0 || end == len(text) || text[at-1] != text[end] {
		return false
	}
	rest := lex.TrimBlanks(text[end+1:])
	return len(rest) > 0 && rest[0] == ':'
}

// isKeyByte reports whether a byte may be part of the key of a field.
func isKeyByte(c byte) bool { return lex.IsWordByte(c) || c == '.' || c == '-' || c == '/' }

// samePrefix reports whether a logger has put the same text before two messages. Their times may
// differ in the decimals of a second.
func samePrefix(a, b []byte) bool {
	if len(a) != len(b) {
		return false
	}
	decimals := false
	for i := range a {
		decimals = decimals || i > 0 && (a[i] == ',' || a[i] == '.') && lex.IsDigit(a[i-1])
		if a[i] != b[i] && (!decimals || !lex.IsDigit(a[i]) || !lex.IsDigit(b[i])) {
			return false
		}
	}
	return true
}

// goesOn reports whether a line has only sizes, with labels that name no moment, and none of the
// quantities of the items.
func (p *printLine) goesOn(items []printItem) bool {
	if len(p.items) == 0 || !p.alone || len(p.before) > 0 || p.items[0].label.isKey {
		return false
	}
	for i := range p.items {
		if p.items[i].label.moment != nil {
			return false
		}
		for j := range items {
			if items[j].q == p.items[i].q {
				return false
			}
		}
	}
	return true
}

// acceptItems returns the items that are GPU memory. The parameter own is the number of items of
// the first line. context holds the words of the line before the first label, and of the title
// above. If host is set, the line speaks of the host's memory, and a label must name the GPU.
func acceptItems(items []printItem, own int, context printWord, host bool) (kept []printItem) {
	has := func(q record.Quantity) bool {
		for i := range items[:own] {
			if items[i].q == q && !items[i].bad {
				return true
			}
		}
		return false
	}
	pair := !host && has(record.Allocated) && has(record.Reserved)
	var last printWord // the subject of the item before
	first := false
	for i := range items {
		item := &items[i]
		subject := item.label.words & (saysGPU | saysMemory)
		switch {
		case item.bad:
			last = 0
			continue
		case subject == 0 && i > 0 && i < own:
			subject = last
		case i >= own && subject == 0:
			subject = (context | last) & (saysGPU | saysMemory)
		}
		if subject == 0 || subject == saysMemory && context&saysGPU != 0 {
			subject |= context & (saysGPU | saysMemory)
		}
		if !item.isGPU(subject, host, pair) {
			last = 0
			continue
		}
		last = subject | saysRead
		first = first || i < own
		kept = append(kept, *item)
	}
	if !first || !givesLevel(kept) {
		return nil
	}
	return usedAsAllocated(kept)
}

// isGPU reports whether an item is memory of the GPU. subject holds the words GPU and memory if the
// label or the text before it has them.
func (item *printItem) isGPU(subject printWord, host, pair bool) bool {
	gpu := subject&saysGPU != 0
	if host && !gpu {
		return false
	}
	words := item.label.words
	switch {
	case words&saysQuantity == 0: // the label has no word for the quantity
		return gpu && subject&saysMemory != 0 && (item.label.moment != nil || item.label.isKey)
	case words&saysAllocated != 0, words&saysReserved != 0:
		return gpu || pair || subject&saysMemory != 0 || item.label.isKey
	case words&saysCached != 0:
		return gpu || pair
	}
	return gpu
}

// isSizeOfCard reports whether an item without a word for its quantity is the size of the card,
// because other fields of the line describe the card: {"gpu_name": "A100", "gpu_mem_gb": 80}.
func (item *printItem) isSizeOfCard(text []byte) bool {
	if item.label.words&saysQuantity != 0 || item.label.moment != nil {
		return false
	}
	text = bytes.ToLower(text[max(0, item.start-scan.Near):min(len(text), item.end+scan.Near)])
	for _, key := range []string{
		"gpu_name", "device_name", "gpu_model", "gpu_type", "gpu_count", "num_gpu", "n_gpu", "gpus",
		"compute_cap", "driver_version", "cuda_version",
	} {
		if bytes.Contains(text, []byte(key)) {
			return true
		}
	}
	return false
}

// givesLevel reports whether the items give a level of memory. The size of the card and the free
// memory are no levels.
func givesLevel(items []printItem) bool {
	for i := range items {
		if items[i].q != record.Total && items[i].q != record.Free {
			return true
		}
	}
	return false
}

// usedAsAllocated changes "used" to allocated where it is below the reserved memory: the driver's
// figure would contain the reserved memory.
func usedAsAllocated(items []printItem) []printItem {
	used, reserved, allocated := -1, -1, false
	for i := range items {
		switch items[i].q {
		case record.Used:
			used = i
		case record.Reserved:
			reserved = i
		case record.Allocated:
			allocated = true
		}
	}
	if used >= 0 && reserved >= 0 && !allocated &&
		items[used].size.Low() <= items[reserved].size.High() {
		items[used].q = record.Allocated
	}
	return items
}
