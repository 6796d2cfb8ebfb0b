package dialect

import (
	"bytes"
	"strings"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
)

// A printWord is what the words of a label say, as a set of bits.
type printWord uint32

const (
	saysGPU printWord = 1 << iota
	saysMemory
	saysAllocated
	saysReserved
	saysCached
	saysPeak
	saysMost // "max", which may be a limit
	saysFree
	saysTotal
	saysUsed
	saysUsage
	saysActive
	saysFiller
	saysRead // an item that was read; no word

	saysQuantity = saysAllocated | saysReserved | saysCached | saysPeak | saysMost | saysFree |
		saysTotal | saysUsed | saysUsage | saysActive
)

// printWords are the words of labels, in lower case. A label with any other word is not read.
var printWords = map[string]printWord{
	"gpu": saysGPU, "cuda": saysGPU, "torch": saysGPU, "pytorch": saysGPU,
	"vram":   saysGPU | saysMemory,
	"device": saysGPU, "hip": saysGPU, "rocm": saysGPU, "xpu": saysGPU, "mps": saysGPU, "npu": saysGPU,
	"nvidia": saysGPU, "nvml": saysGPU,
	"memory": saysMemory, "mem": saysMemory,
	"allocated": saysAllocated, "alloc": saysAllocated,
	"reserved": saysReserved,
	"cached":   saysCached,
	"peak":     saysPeak,
	"max":      saysMost, "maximum": saysMost, "highest": saysMost,
	"free": saysFree, "total": saysTotal,
	"used": saysUsed, "use": saysUsed, "occupied": saysUsed,
	"usage":   saysUsage,
	"active":  saysActive,
	"current": saysFiller, "currently": saysFiller, "curr": saysFiller, "now": saysFiller,
	"in": saysFiller, "is": saysFiller, "on": saysFiller, "the": saysFiller, "and": saysFiller,
	"initial": saysFiller, "final": saysFiller, "so": saysFiller, "far": saysFiller,
}

// printMoments are the words with which the name of a moment begins: "before training". Those with
// false may also begin something else ("at 90 %"), so a word for a quantity must precede them.
var printMoments = map[string]bool{
	"before": true, "after": true, "during": false, "at": false, "when": false, "while": false,
	"since": false,
}

// printSteps are the words that count steps: "epoch 3".
var printSteps = map[string]bool{
	"epoch": true, "step": true, "iter": true, "iteration": true, "batch": true,
}

// printUnits are units as the last word of a label: "allocated_mb", "GPU memory (GB)".
var printUnits = map[string]int64{
	"b": 1, "byte": 1, "bytes": 1,
	"kb": record.KiB, "kib": record.KiB, "mb": record.MiB, "mib": record.MiB,
	"gb": record.GiB, "gib": record.GiB,
}

// A printLane is the device and the rank that a label names, each -1 if it names none.
type printLane struct{ device, rank int }

var noLane = printLane{-1, -1}

// A printLabel is the label before a size.
type printLabel struct {
	words  printWord
	unit   int64  // the unit in the label, or 0
	moment []byte // "before training" in the label, or nil
	step   []byte // "epoch" in "epoch 3 GPU memory", or nil
	lane   printLane
	isKey  bool // the label is the key of a field, and has a unit: gpu_mem_gb
}

// A labelWord is a word of a label, at an offset.
type labelWord struct {
	text  string // in lower case
	start int
}

// cutWords returns the words of a label, at most 32. A word ends at a blank, a dot, a dash or an
// underscore, between a letter and a digit, and before a capital letter: "gpuMemoryAllocatedMB".
func cutWords(text []byte) (words []labelWord, ok bool) {
	for i := 0; i < len(text); {
		c := text[i]
		if c >= 0x80 {
			return nil, false
		}
		if !isLetter(c) && !lex.IsDigit(c) {
			if bytes.IndexByte([]byte(" \t_.-/:*#@"), c) < 0 {
				return nil, false
			}
			i++
			continue
		}
		start := i
		i++
		for i < len(text) && sameWord(text, start, i) {
			i++
		}
		if len(words) == 32 {
			return nil, false
		}
		words = append(words, labelWord{strings.ToLower(string(text[start:i])), start})
	}
	return words, true
}

// sameWord reports whether the byte at an offset belongs to the word that begins at start.
func sameWord(text []byte, start, i int) bool {
	c, before := text[i], text[i-1]
	switch {
	case lex.IsDigit(c) || lex.IsDigit(before):
		return lex.IsDigit(c) && lex.IsDigit(before)
	case !isLetter(c):
		return false
	case c >= 'a': // "GPUMemory" is two words
		return before >= 'a' || i-start == 1 || i-start > 1 && !isUpper(text[i-2])
	case before >= 'a': // "allocatedMB" is two words, "MiB" is one
		return i-start <= 2 && (c == 'B' || c == 'b')
	}
	// The last capital letter of a run begins the next word: "GPUMemory".
	return i+1 >= len(text) || !isLetter(text[i+1]) || text[i+1] < 'a' || i-start < 2
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// readLabel reads a label: "GPU memory allocated", "GPU Memory Before A", "After A GPU memory". ok
// is false if the label has an unknown word.
func readLabel(text []byte) (label printLabel, ok bool) {
	label.lane = noLane
	words, ok := cutWords(text)
	if !ok || len(words) == 0 {
		return label, false
	}
	if unit := printUnits[words[len(words)-1].text]; unit > 0 && len(words) > 1 {
		label.unit = unit
		end := words[len(words)-1].start
		words, text = words[:len(words)-1], bytes.TrimRight(text[:end], " _-.")
		if n := len(words); words[n-1].text == "in" {
			words = words[:n-1] // "GPU memory in GB"
		}
	}
	for i := 0; i < len(words); i++ {
		word := words[i].text
		known := printWords[word]
		strict, isMoment := printMoments[word]
		switch {
		case known != 0:
			label.words |= known
		case lex.IsDigit(word[0]) && i > 0 && printWords[words[i-1].text] == saysGPU:
			if label.lane.device, _, ok = lex.CutInt([]byte(word)); !ok {
				return label, false
			}
		case word == "rank" && i+1 < len(words) && lex.IsDigit(words[i+1].text[0]):
			if label.lane.rank, _, ok = lex.CutInt([]byte(words[i+1].text)); !ok {
				return label, false
			}
			i++
		case printSteps[word] && i == 0 && len(words) > 1 && lex.IsDigit(words[1].text[0]):
			label.step = text[:len(word)]
			if words[0].start != 0 {
				label.step = text[words[0].start : words[0].start+len(word)]
			}
			for i+1 < len(words) && lex.IsDigit(words[i+1].text[0]) {
				i++
			}
		case isMoment && (strict || label.words&saysQuantity != 0):
			return label.readMoment(text, words[i:])
		default:
			return label, false
		}
	}
	return label, true
}

// readMoment reads the words of a label from a moment on: "before training". If the label has no
// words for a quantity yet, they may follow: "After loading GPU memory allocated".
func (label printLabel) readMoment(text []byte, words []labelWord) (printLabel, bool) {
	start, end := words[0].start, len(text)
	if label.words&saysQuantity == 0 {
		last := len(words)
		var more printWord
		for last > 2 && printWords[words[last-1].text] != 0 {
			last--
			more |= printWords[words[last].text]
		}
		if label.words&saysGPU == 0 || more&saysQuantity != 0 {
			label.words |= more
			if last < len(words) {
				end = words[last].start
			}
		}
	}
	label.moment = bytes.TrimRight(text[start:end], " \t_-.")
	return label, len(label.moment) > 0
}

// quantity returns the quantity of the label. ok is false if the label contradicts itself.
func (label *printLabel) quantity() (q record.Quantity, ok bool) {
	w := label.words
	one := func(set printWord) bool { return w&set != 0 && w&set&(w&set-1) == 0 }
	kinds := saysAllocated | saysReserved | saysCached | saysFree | saysActive
	if w&kinds != 0 && !one(kinds) || w&saysFree != 0 && w&(saysPeak|saysMost|saysUsed) != 0 {
		return 0, false
	}
	peak := w&(saysPeak|saysMost) != 0
	switch {
	case w&saysAllocated != 0 && peak:
		return record.Peak, true
	case w&(saysReserved|saysCached) != 0 && peak:
		return record.PeakReserved, true
	case w&saysAllocated != 0:
		return record.Allocated, true
	case w&(saysReserved|saysCached) != 0:
		return record.Reserved, true
	case w&saysActive != 0:
		return record.Active, !peak
	case w&saysFree != 0:
		return record.Free, true
	case w&(saysUsed|saysUsage) != 0 && peak, w&saysPeak != 0:
		return record.Peak, true
	case w&saysUsed != 0:
		return record.Used, true
	case w&saysUsage != 0:
		return record.Allocated, true
	case w&saysMost != 0:
		return 0, false // "Max VRAM" may be a limit
	case w&saysTotal != 0:
		return record.Total, true
	}
	return record.Allocated, true
}
