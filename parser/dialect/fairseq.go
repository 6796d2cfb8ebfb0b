package dialect

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// fairseqDialect is fairseq's: what is left of the device's memory at the peak of each interval
// (fairseq/trainer.py: the total minus max_memory_allocated, which it then resets), in GiB, rounded
// to one decimal. Its progress bars write it as JSON, as tqdm does, and between bars:
//
//	[2022-04-08 18:48:05,372][train_inner][INFO] - {"epoch": 1, ..., "train_wall": "404", "gb_free": "23.1", "wall": "425"}
//	[2022-04-08 18:58:05,372][train][INFO] - {"epoch": 1, ..., "train_gb_free": "23.5", "train_wall": "1026"}
//	2021-03-01 10:00:00 | INFO | train_inner | epoch 001:    100 / 1234 loss=9.276, gb_free=10.5, wall=42
//	2021-03-01 10:00:00 | INFO | train | epoch 001 | loss 9.276 | gb_free 10.5 | wall 42
//
// Forks of it (xlmg, metaseq) write the peaks themselves, and a TPU its total:
//
//	..., "cuda_gb_allocated": "20.3", "cuda_gb_reserved": "25.1", "cuda_gb_free": "11.4", ...
//
// The devices are listed at the beginning (fairseq/utils.py):
//
//	[2022-04-08 18:41:00,389][fairseq.utils][INFO] - rank   0: capabilities =  7.0  ; total memory = 31.749 GB ; name = Tesla V100
var fairseqDialect = scan.Dialect{
	Name:    "fairseq",
	Needles: []string{needleFairseqFree, needleFairseqPeak, needleFairseqDevice},
	Read: func(l *scan.Line, at int) int {
		if bytes.HasPrefix(l.Text[at:], []byte(needleFairseqDevice)) {
			return readFairseqDevice(l, at)
		}
		return readFairseq(l, at)
	},
}

const (
	needleFairseqFree   = "gb_free"
	needleFairseqPeak   = "cuda_gb_allocated"
	needleFairseqDevice = "; total memory = "
)

// fairseqKeys are the readings in the order of their priority, in which fairseq prints them.
var fairseqKeys = []struct {
	key string
	q   record.Quantity
}{
	{"cuda_gb_allocated", record.Peak},
	{"cuda_gb_reserved", record.PeakReserved},
	{"cuda_gb_free", record.Free},
	{"gb_free", record.Free},
	{"gb_total", record.Total},
}

// readFairseq reads the key at an offset and those that follow it directly.
func readFairseq(l *scan.Line, at int) (end int) {
	// A prefix names the statistics: "train_gb_free", "valid_gb_free"; cuda_ is of the key.
	from := at
	for from > 0 && at-from < 64 && lex.IsWordByte(l.Text[from-1]) {
		from--
	}
	prefix, _ := bytes.CutSuffix(l.Text[from:at], []byte("cuda_"))
	at = from + len(prefix)
	var reading record.Reading
	rest := l.Text[at:]
	for len(rest) > 0 {
		q, s, behind, ok := cutFairseq(rest)
		if _, has := reading.Get(q); !ok || has {
			break
		}
		reading.Set(q, s)
		rest = behind
		next := bytes.TrimLeft(rest, "\", |")
		if next, ok = lex.CutPrefix(next, string(prefix)); !ok {
			break
		}
		if _, _, _, ok = cutFairseq(next); !ok {
			break
		}
		rest = next
	}
	if reading.Len() == 0 {
		if i := bytes.IndexAny(
			lex.FirstBytes(rest, 32),
			"0123456789",
		); i > 0 &&
			len(bytes.Trim(rest[:i], "abcdefglortu_\": =")) == 0 {
			l.Bad(from, "a number of GiB such as gb_free=23.1", record.TornAdvice)
			return from + len(prefix) + i
		}
		return 0
	}
	c := l.Checkpoint(from, "train_inner")
	c.Sampled, c.Reading = true, reading
	switch text := lex.FirstBytes(l.Text[:from], nearby); {
	case len(prefix) > 0:
		c.Name = l.Str(bytes.TrimRight(prefix, "_"))
	case bytes.Contains(text, []byte("| train |")) || bytes.Contains(text, []byte("[train]")):
		c.Name = "train"
	}
	return len(l.Text) - len(rest)
}

// cutFairseq cuts a key and its value off the text that begins with the key: gb_free": "23.1",
// gb_free=23.1, gb_free 23.1.
func cutFairseq(text []byte) (q record.Quantity, s record.Size, rest []byte, ok bool) {
	for _, f := range fairseqKeys {
		rest, ok = lex.CutPrefix(text, f.key)
		if !ok {
			continue
		}
		for _, between := range []string{`": "`, `": `, "=", ": ", " "} {
			value, known := lex.CutPrefix(rest, between)
			if !known {
				continue
			}
			n, behind, isNumber := lex.CutNumber(lex.TrimBlanks(value))
			number := lex.TrimBlanks(value)
			number = number[:len(number)-len(behind)]
			if !isNumber || number[len(number)-1] == '.' ||
				len(behind) > 0 && (lex.IsWordByte(behind[0]) || behind[0] == '.') {
				return 0, record.Size{}, text, false
			}
			s, ok = n.Rounded(1).Times(record.GiB)
			return f.q, s, behind, ok
		}
		break
	}
	return 0, record.Size{}, text, false
}

func readFairseqDevice(l *scan.Line, at int) (end int) {
	start := max(0, at-nearby)
	before := l.Text[start:at]
	from := bytes.LastIndex(before, []byte("rank "))
	if from < 0 || !bytes.Contains(before[from:], []byte(": capabilities = ")) {
		return 0
	}
	rank, _, ok := lex.CutInt(lex.TrimBlanks(before[from+len("rank "):]))
	from += start
	s, rest, isSize := lex.CutSize(l.Text[at+len(needleFairseqDevice):], 0)
	if !ok || !isSize {
		l.Bad(from, "a rank and a size: rank   0: ...; total memory = 31.749 GB", record.TornAdvice)
		return at + len(needleFairseqDevice)
	}
	c := l.Checkpoint(from, "device")
	c.Sampled = true
	c.Lane.Rank = rank
	c.Set(record.Total, s)
	return len(l.Text) - len(rest)
}
