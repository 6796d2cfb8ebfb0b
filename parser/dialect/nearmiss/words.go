package nearmiss

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"vramsoak/parser/lex"
)

// A sense is what a word says, as a set of bits.
type sense uint16

const (
	saysGPU sense = 1 << iota
	saysMemory
	saysHost
	saysAllocated
	saysReserved
	saysPeak
	saysFree
	saysUsed
	saysUsage // "usage", which another word may make more exact
	saysTotal
	saysCurrent
	saysFiller
	saysNoLevel // the size is a difference, a limit or a plan

	saysQuantity = saysAllocated | saysReserved | saysPeak | saysFree | saysUsed | saysUsage |
		saysTotal
)

// senses are the known words of ASCII letters, in lower case.
var senses = map[string]sense{
	"gpu": saysGPU, "gpus": saysGPU, "cuda": saysGPU, "vram": saysGPU | saysMemory,
	"device": saysGPU, "grafik": saysGPU,
	"memory": saysMemory, "mem": saysMemory, "memoria": saysMemory, "speicher": saysMemory,
	"ram": saysHost, "cpu": saysHost, "rss": saysHost, "host": saysHost,
	"disk": saysHost, "swap": saysHost, "heap": saysHost, "jvm": saysHost, "system": saysHost,
	"allocated": saysAllocated, "alloc": saysAllocated, "allocd": saysAllocated,
	"reserved": saysReserved, "cached": saysReserved, "rsvd": saysReserved, "resv": saysReserved,
	"peak": saysPeak, "max": saysPeak, "maximum": saysPeak,
	"free": saysFree, "available": saysFree, "avail": saysFree,
	"left": saysFree, "remaining": saysFree, "unused": saysFree, "spare": saysFree,
	"used": saysUsed, "use": saysUsed, "using": saysUsed, "occupied": saysUsed, "belegt": saysUsed,
	"usage": saysUsage,
	"total": saysTotal, "capacity": saysTotal,
	"current": saysCurrent, "cur": saysCurrent, "curr": saysCurrent, "now": saysCurrent,
	"currently": saysCurrent,
	"in":        saysFiller, "is": saysFiller, "bytes": saysFiller, "byte": saysFiller,
	"mb":  saysFiller,
	"mib": saysFiller, "gb": saysFiller, "gib": saysFiller, "kb": saysFiller, "kib": saysFiller,
	"so": saysFiller, "far": saysFiller, "at": saysFiller, "on": saysFiller, "the": saysFiller,
	"increased": saysNoLevel, "increase": saysNoLevel, "decreased": saysNoLevel,
	"decrease": saysNoLevel, "saved": saysNoLevel, "saves": saysNoLevel, "saving": saysNoLevel,
	"required": saysNoLevel, "requires": saysNoLevel, "require": saysNoLevel, "limit": saysNoLevel,
	"freed": saysNoLevel, "released": saysNoLevel, "reclaimed": saysNoLevel, "delta": saysNoLevel,
	"diff": saysNoLevel, "difference": saysNoLevel, "change": saysNoLevel, "changed": saysNoLevel,
	"growth": saysNoLevel, "grew": saysNoLevel, "grown": saysNoLevel, "estimated": saysNoLevel,
	"estimate": saysNoLevel, "expected": saysNoLevel, "predicted": saysNoLevel,
	"needed": saysNoLevel, "needs": saysNoLevel, "need": saysNoLevel, "budget": saysNoLevel,
	"threshold": saysNoLevel, "target": saysNoLevel, "reduced": saysNoLevel,
	"minimum": saysNoLevel, "min": saysNoLevel, "avg": saysNoLevel, "average": saysNoLevel,
	"mean": saysNoLevel, "size": saysNoLevel, "bandwidth": saysNoLevel, "requested": saysNoLevel,
	"headroom": saysNoLevel, "weights": saysNoLevel, "cache": saysNoLevel, "kv": saysNoLevel,
	"overhead": saysNoLevel, "wasted": saysNoLevel, "extra": saysNoLevel, "additional": saysNoLevel,
	"more": saysNoLevel, "less": saysNoLevel, "spec": saysNoLevel,
	"leaked": saysNoLevel, "dropped": saysNoLevel,
	"quota": saysNoLevel, "cap": saysNoLevel, "gained": saysNoLevel, "lost": saysNoLevel,
}

// otherSenses are words of other letters, in lower case. They may be parts of a word.
var otherSenses = []struct {
	part string
	sense
}{
	{"显存", saysGPU | saysMemory},
	{"顯存", saysGPU | saysMemory},
	{"显卡", saysGPU},
	{"グラフィック", saysGPU},
	{"그래픽", saysGPU},
	{"видео", saysGPU},
	{"内存", saysMemory},
	{"內存", saysMemory},
	{"記憶體", saysMemory},
	{"メモリ", saysMemory},
	{"메모리", saysMemory},
	{"память", saysMemory},
	{"памяти", saysMemory},
	{"mémoire", saysMemory},
	{"预留", saysReserved},
	{"保留", saysReserved},
	{"缓存", saysReserved},
	{"予約", saysReserved},
	{"예약", saysReserved},
	{"峰值", saysPeak},
	{"最大", saysPeak},
	{"ピーク", saysPeak},
	{"최대", saysPeak},
	{"пик", saysPeak},
	{"剩余", saysFree},
	{"剩餘", saysFree},
	{"可用", saysFree},
	{"空き", saysFree},
	{"여유", saysFree},
	{"свободно", saysFree},
	{"分配", saysAllocated},
	{"割り当て", saysAllocated},
	{"할당", saysAllocated},
	{"占用", saysUsed},
	{"已用", saysUsed},
	{"使用", saysUsed},
	{"사용", saysUsed},
	{"занято", saysUsed},
	{"总", saysTotal},
	{"總", saysTotal},
	{"合計", saysTotal},
	{"총", saysTotal},
	{"释放", saysNoLevel},
	{"釋放", saysNoLevel},
	{"解放", saysNoLevel},
	{"限制", saysNoLevel},
	{"增加", saysNoLevel},
	{"减少", saysNoLevel},
}

// A word is a word of a line.
type word struct {
	start, end int // offsets in the line
	sense      sense
}

// wordsOf returns the words of a line. "gpuMemAllocated" and "gpu_mem" are several words.
func wordsOf(text string) (words []word) {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !unicode.IsLetter(r) {
			i += n
			continue
		}
		start, before := i, r
		for i += n; i < len(text); i += n {
			r, n = utf8.DecodeRuneInString(text[i:])
			if !unicode.IsLetter(r) || r < utf8.RuneSelf != (before < utf8.RuneSelf) ||
				unicode.IsUpper(r) && unicode.IsLower(before) {
				break
			}
			before = r
		}
		w := word{start: start, end: i}
		lower := strings.ToLower(text[start:i])
		if w.sense = senses[lower]; w.sense == 0 && lower[0] >= utf8.RuneSelf {
			for _, o := range otherSenses {
				if strings.Contains(lower, o.part) {
					w.sense |= o.sense
				}
			}
		}
		if n := len(words); lower == "ram" && n > 0 && words[n-1].sense&saysGPU != 0 &&
			words[n-1].end == start-1 { // "gpu_ram"
			w.sense = saysMemory
		}
		words = append(words, w)
	}
	return words
}

// wordsBetween returns the words that lie between two offsets.
func wordsBetween(words []word, from, to int) []word {
	for len(words) > 0 && words[0].start < from {
		words = words[1:]
	}
	for len(words) > 0 && words[len(words)-1].end > to {
		words = words[:len(words)-1]
	}
	return words
}

// sensesOf returns what all words together say.
func sensesOf(words []word) (all sense) {
	for _, w := range words {
		all |= w.sense
	}
	return all
}

// lastQuantity returns the words for a quantity that are nearest to the end. Known words may come
// between them: "peak GPU memory reserved".
func lastQuantity(words []word) (found sense) {
	for _, w := range slices.Backward(words) {
		s := w.sense
		if found != 0 && s == 0 {
			break
		}
		found |= s & (saysQuantity | saysCurrent)
	}
	return found
}

// quantity returns the name of the quantity for which the words of a sense stand, or "" if they are
// no words for a quantity. sure is false if they contradict each other.
func (s sense) quantity() (name string, sure bool) {
	s &= saysQuantity
	if s != saysUsage {
		s &^= saysUsage
	}
	switch s {
	case 0:
		return "", true
	case saysAllocated, saysAllocated | saysTotal, saysAllocated | saysUsed:
		return "allocated", true
	case saysReserved, saysReserved | saysTotal:
		return "reserved", true
	case saysPeak, saysPeak | saysAllocated, saysPeak | saysUsed:
		return "peak", true
	case saysPeak | saysReserved:
		return "peak_reserved", true
	case saysFree:
		return "free", true
	case saysUsed, saysUsage, saysUsed | saysTotal:
		return "used", true
	case saysTotal:
		return "total", true
	}
	return "", false
}

// deviceNumber matches the number of a device, which is a group: "GPU 0", "cuda:1", "gpu=2".
var deviceNumber = lex.Expression(
	`(?i)(?:\b|_)(?:gpu|cuda|device)(?:_?id|_index)?["']?[ :=#_\[-]{0,3}(?:cuda:)?(\d{1,3})`)
