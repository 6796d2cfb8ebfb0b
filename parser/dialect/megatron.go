package dialect

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// megatronDialect is that of report_memory of Megatron-LM (megatron/training/utils/common_utils.py), and of what was made of
// it: Megatron-DeepSpeed, GPT-NeoX. MB are 1024 * 1024 bytes. The numbers were whole floats at first and have had two
// decimals since 2024; reserved was cached in PyTorch's days of that word, and one rank of each model-parallel group prints:
//
//	[Rank 59] (after 1 iterations) memory (MB) | allocated: 15492.84619140625 | max allocated: ... | max reserved: 17454.0
//	[Rank 0] (after 2 iterations) memory (MB) | allocated: 18243.64 | ... | total device memory used: 58310.12
//	after 20 iterations memory (MB) | allocated: 7612.3 | max allocated: 8120.5 | cached: 8514.0 | max cached: 8514.0
//
// Ranks share a file, so that two of them may stand on one line, whole or torn into one another. A reading without its
// beginning is none; one without its end gives an error. The line "Theoretical memory footprints: ..." is an estimate.
var megatronDialect = scan.Dialect{
	Name:    "megatron",
	Needles: []string{needleMegatron},
	Read:    readMegatron,
}

const needleMegatron = "memory (MB) | "

// megatronFields are the fields in their order. Each line has the first four; those with the word cached are older.
var megatronFields = []struct {
	label, older string
	q            record.Quantity
}{
	{"| allocated: ", "", record.Allocated},
	{"| max allocated: ", "", record.Peak},
	{"| reserved: ", "| cached: ", record.Reserved},
	{"| max reserved: ", "| max cached: ", record.PeakReserved},
	{"| total device memory used: ", "", record.Used},
}

func readMegatron(l *scan.Line, at int) (end int) {
	start := max(0, at-2*nearby) // of what is looked at
	before := l.Text[start:at]
	rank, from := megatronRank(before)
	name := before[max(from, 0):]
	if from >= 0 {
		name = name[bytes.IndexByte(name, ']')+1:]
	} else if i := bytes.LastIndexByte(name, '('); i >= 0 && bytes.HasSuffix(bytes.TrimSpace(name), []byte(")")) {
		name = name[i:]
	}
	if name = bytes.TrimSpace(name); source.IsTemplate(lex.FirstBytes(l.Text[at:], nearby)) {
		return 0
	}
	reportTornRank(l, start, start+max(from, 0))
	var reading record.Reading
	torn := ""
	rest := l.Text[at+len("memory (MB) "):]
	for i, f := range megatronFields {
		after, known := lex.CutPrefix(lex.TrimBlanks(rest), f.label)
		if !known && f.older != "" {
			after, known = lex.CutPrefix(lex.TrimBlanks(rest), f.older)
		}
		if !known && i >= 4 {
			break
		}
		n, behind, ok := lex.CutFloat(after)
		s, fits := n.Times(record.MiB)
		// A number that another writer's text follows may have lost digits; only at the end of a reading is the newline
		// all that can be missing, and then the decimals are there.
		whole := n.Decimals > 0 && (i >= 3 || bytes.HasPrefix(lex.TrimBlanks(behind), []byte("|")))
		if !known || !ok || !fits || !whole || n.Digits < 0 {
			torn = "a number of MB after \"" + f.label + "\""
			if known && ok && n.Decimals > 0 {
				torn += ", and the field behind it"
			}
			break
		}
		if n.Decimals != 2 {
			s.Resolution = 0 // all of the float's digits: the bytes are a whole number of 2^-20 MB
		}
		reading.Set(f.q, s)
		rest = behind
	}
	if reading.Len() > 0 {
		c := record.Checkpoint{Header: l.Header(start + max(from, 0)), Name: "memory", Lane: record.Lane{Rank: rank}, Reading: reading}
		if inner := bytes.Trim(name, "() "); len(inner) > 0 {
			c.Name = l.Str(inner)
		}
		// "(after 1 iterations)" comes by the step; "(before save_checkpoint for iteration 500)" is a place in the program.
		c.Sampled = bytes.HasSuffix(bytes.TrimRight(name, ")"), []byte(" iterations"))
		l.Add(c)
	}
	if torn != "" {
		l.Bad(len(l.Text)-len(rest), torn, record.TornAdvice)
	}
	return len(l.Text) - len(rest)
}

// reportTornRank gives an error where a rank's reading begins between two offsets and another's begins before its own got as far as
// "memory (MB)":
//
//	[Rank 3] (after 1 iterat[Rank 2] (after 1 iterations) memory (MB) | allocated: ...
func reportTornRank(l *scan.Line, from, to int) {
	text := l.Text[from:to]
	_, at := megatronRank(text)
	if at < 0 || bytes.Contains(text[at:], []byte("memory (MB)")) {
		return
	}
	rest := text[at+bytes.IndexByte(text[at:], ']')+1:]
	if bytes.HasPrefix(rest, []byte(" (after ")) || bytes.HasPrefix(rest, []byte(" (before ")) {
		l.Bad(from+at, "memory (MB) | allocated: ... after \"[Rank N] (after N iterations)\"", record.TornAdvice)
	}
}
