package dialect

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// deepspeedDialect reads DeepSpeed. see_memory_usage (runtime/utils.py) prints a message, then a
// line of readings, and resets the peaks. The message becomes the checkpoint's name. Since 2025 it
// prints without the logger:
//
//	[2021-06-10 23:06:14,491] [INFO] [utils.py:627:see_memory_usage] After Building Model
//	[2021-06-10 23:06:14,491] [INFO] [utils.py:628:see_memory_usage] MA 1.69 GB         Max_MA 1.69 GB         CA 1.7 GB   ...
//	[2021-06-10 23:06:14,492] [INFO] [utils.py:636:see_memory_usage] CPU Virtual Memory:  used = 39.17 GB, percent = 20.9%
//
// Before December 2020 it printed a line for each reading:
//
//	Memory Allocated 1.69140625 GigaBytes
//	Max Memory Allocated 1.69140625 GigaBytes
//	Cache Allocated 1.703125 GigaBytes
//	Max cache Allocated 1.703125 GigaBytes
//
// memory_status is in the same file and in runtime/pipe/engine.py. Its deltas become a
// [record.Change]:
//
//	RANK=0 MEMSTATS before forward device=cuda:0 current alloc=1.2345GB (delta=0.0000GB max=1.2345GB) current cache=...
//	RANK=0 STAGE=1 STEP=10 MEMSTATS BEFORE STEP device=0 current alloc=...
//
// csrc/transformer/inference allocates a workspace and then prints these lines. The free memory is
// the one before the allocation:
//
//	Free memory : 19.605713 (GigaBytes)
//	Total memory: 31.748535 (GigaBytes)
//	Requested memory: 0.515625 (GigaBytes)
//
// Every unit is a power of 1024. The estimates of zero/stage3.py
// (estimate_zero3_model_states_mem_needs) are not readings. programs.yaml has the lines of
// utils/timer.py and the peaks of pipelines.
var deepspeedDialect = scan.Dialect{
	Name: "deepspeed",
	Needles: []string{
		needleMA, needleMemstats, needleGigaBytes, needleCacheGigaBytes, needleWorkspace,
	},
	Read: func(l *scan.Line, at int) int {
		switch text := l.Text[at:]; {
		case bytes.HasPrefix(text, []byte(needleMA)):
			return readSeeMemoryUsage(l, at)
		case bytes.HasPrefix(text, []byte(needleMemstats)):
			return readMemstats(l, at)
		case bytes.HasPrefix(text, []byte(needleWorkspace)):
			return readWorkspace(l, at)
		}
		return readGigaBytes(l, at)
	},
}

const (
	needleMA             = "Max_MA "
	needleMemstats       = "MEMSTATS "
	needleGigaBytes      = "Memory Allocated "
	needleCacheGigaBytes = "ache Allocated "
	needleWorkspace      = "Free memory : "
)

// betweenMA are the characters between the readings of see_memory_usage. Forks print bars:
//
//	MA 3.73 GiB | Max_MA 3.80 GiB | CA 4.0 GiB | Max_CA 4 GiB
const betweenMA = " \t\\|"

// readSeeMemoryUsage reads "MA 1.69 GB  Max_MA 1.69 GB  CA 1.7 GB  Max_CA 2 GB". The parameter at
// is the offset of "Max_MA ". The first three sizes are rounded to two decimals, and Python drops
// zeros at their ends. The size Max_CA is rounded to a whole number.
func readSeeMemoryUsage(l *scan.Line, at int) (end int) {
	start := max(0, at-nearby)
	text := bytes.TrimRight(l.Text[start:at], betweenMA)
	from := bytes.LastIndex(text, []byte("MA "))
	if from < 0 || from > 0 && lex.IsWordByte(text[from-1]) || source.IsTemplate(text[from:]) {
		return 0
	}
	allocated, rest, ok := lex.CutRounded(text[from+len("MA "):], 2)
	if !ok || len(rest) > 0 {
		if len(rest) == 0 || !lex.IsDigit(lex.TrimBlanks(text[from+len("MA "):])[0]) {
			return 0
		}
		l.Bad(start+from, "a size such as 1.69 GB after \"MA\"", record.TornAdvice)
		return at + len(needleMA)
	}
	var sizes [3]record.Size
	rest = l.Text[at:]
	for i, label := range []string{"Max_MA ", "CA ", "Max_CA "} {
		rest = bytes.TrimLeft(rest, betweenMA)
		after, known := lex.CutPrefix(rest, label)
		if known {
			sizes[i], after, known = lex.CutRounded(after, 2*(1-i/2))
		}
		if !known {
			expected := "a size such as 1.69 GB after \"" + label[:len(label)-1] + "\""
			l.Bad(len(l.Text)-len(rest), expected, record.TornAdvice)
			return len(l.Text) - len(rest) + 1
		}
		rest = after
	}
	c := l.Checkpoint(start+from, messageBefore(l, start+from))
	c.Set(record.Allocated, allocated)
	c.Set(record.Peak, sizes[0])
	c.Set(record.Reserved, sizes[1])
	c.Set(record.PeakReserved, sizes[2])
	return len(l.Text) - len(rest)
}

// messageBefore returns the message that the program gave to see_memory_usage. The message is on
// the line before the readings. Warnings and lines of other processes may come between the two
// lines.
func messageBefore(l *scan.Line, at int) string {
	const marker, unnamed = "see_memory_usage] ", "see_memory_usage"
	prefix := bytes.TrimSpace(lex.LastBytes(l.Text[:at], nearby))
	own := bytes.TrimSpace(lex.LastBytes(l.Text[min(l.Logger(), at):at], nearby))
	marked := bytes.HasSuffix(prefix, []byte(marker[:len(marker)-1]))
	for n := 1; n <= 16; n++ {
		text, ok := l.Previous(n)
		if !ok || len(text) > scan.NameMax {
			break
		}
		i := bytes.Index(text, []byte(marker))
		switch {
		case marked && i >= 0:
			text = text[i+len(marker):]
		case marked || bytes.Contains(text, []byte("Warning")) ||
			bytes.HasPrefix(bytes.TrimSpace(text), []byte("warnings.warn")):
			continue
		default:
			// The same prefix of a launcher or logger precedes the message and the readings: "0:
			// MA 1.69 GB", "... INFO - MA 1.69 GB". If a logger's prefix is not known, its last word
			// shows where the message begins.
			if text = source.WithoutLogger(text); len(own) == 0 {
				break
			}
			word := own[bytes.LastIndexByte(own, ' ')+1:]
			before, after, ok := bytes.Cut(text, append(bytes.Clone(word), ' '))
			if ok && (len(before) == 0 || before[len(before)-1] == ' ') {
				text = after
			}
		}
		if text = bytes.TrimSpace(text); len(text) == 0 || isUsageLine(text) {
			break
		}
		return l.Str(text)
	}
	return unnamed
}

// isUsageLine reports whether a line has readings of see_memory_usage. Such a line is not the
// message of the next readings.
func isUsageLine(text []byte) bool {
	return bytes.Contains(text, []byte("CPU Virtual Memory:")) ||
		bytes.Contains(text, []byte(needleMA)) ||
		bytes.Contains(text, []byte("GigaBytes"))
}

// memstats are the fields that memory_status prints, in the order in which it prints them.
var memstats = []struct {
	label    string
	q        record.Quantity
	isChange bool
}{
	{"current alloc=", record.Allocated, false},
	{"(delta=", record.Allocated, true},
	{"max=", record.Peak, false},
	{") current cache=", record.Reserved, false},
	{"(delta=", record.Reserved, true},
	{"max=", record.PeakReserved, false},
}

// readMemstats reads a line of memory_status. It adds a checkpoint with the "current" sizes and a
// change with the deltas.
func readMemstats(l *scan.Line, at int) (end int) {
	rest := l.Text[at+len(needleMemstats):]
	if bytes.HasPrefix(rest, []byte("STAGE=")) {
		return 0 // programs.yaml reads the peaks of pipelines
	}
	i := bytes.Index(lex.FirstBytes(rest, nearby), []byte(" device="))
	j := bytes.Index(lex.FirstBytes(rest, nearby), []byte(" current alloc="))
	if i < 0 || j < i || source.IsTemplate(rest[:j]) {
		return 0
	}
	name, device := l.Str(rest[:i]), rest[i+len(" device="):j]
	if k := bytes.LastIndexByte(device, ':'); k >= 0 {
		device = device[k+1:]
	}
	var levels, deltas record.Reading
	rest = rest[j:]
	for _, f := range memstats {
		after, known := lex.CutPrefix(lex.TrimBlanks(rest), f.label)
		s, behind, ok := lex.CutSize(after, 0)
		if !known || !ok {
			if source.IsTemplate(lex.FirstBytes(rest, nearby)) {
				return 0
			}
			expected := "a size such as 1.2345GB after \"" + f.label + "\""
			l.Bad(len(l.Text)-len(rest), expected, record.TornAdvice)
			return len(l.Text) - len(rest)
		}
		if f.isChange {
			deltas.Set(f.q, s)
		} else {
			levels.Set(f.q, s)
		}
		rest = behind
	}
	var lane record.Lane
	before := lex.LastBytes(l.Text[:at], nearby)
	if k := bytes.LastIndex(before, []byte("RANK=")); k >= 0 {
		lane.Rank, _, _ = lex.CutInt(before[k+len("RANK="):])
	}
	lane.Device, _, _ = lex.CutInt(device)
	c := l.Checkpoint(at, name)
	c.Lane, c.Reading = lane, levels
	l.Add(record.Change{Header: l.Header(at), Name: name, Lane: lane, Reading: deltas})
	return len(l.Text) - len(rest)
}
