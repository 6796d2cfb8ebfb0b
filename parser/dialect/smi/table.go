package smi

import (
	"bytes"

	"vramsoak/parser/scan"
)

// Table reads what nvidia-smi prints for people: the boxed table, in the layouts of its drivers
// since 2012, and the text of nvidia-smi -q, see [readSMIQuery]:
//
//	Sun Jan 25 17:25:39 2026
//	| NVIDIA-SMI 580.95.05              Driver Version: 580.95.05      CUDA Version: 13.0     |
//	|   0  NVIDIA A40                     On  |   00000000:CA:00.0 Off |                    0 |
//	|  0%   35C    P0             99W /  300W |    1835MiB /  46068MiB |     30%      Default |
//	|    0   N/A  N/A         2123797      C   /opt/conda/envs/aucum/bin/python       1826MiB |
//
// Older drivers print:
//
//	| 0.  Tesla C2050               | 0000:05:00.0  On     |         0          0 |
//	|  30%   62 C  P0    N/A /  N/A |   3%   70MB / 2687MB |   44%     Default    |
//	|  0.  7336     ./align                                                 61MB  |
//
// A device's row gives the memory in use and the total. The row above names the device, and the
// line above the table gives the time. The memory of a process or a MIG device is part of its
// device:
//
//	|  0    3   0   0  |              12MiB /  5952MiB  | 14      0 |  1   0    1    0    0 |
//	|                  |               0MiB /  8191MiB  |           |                       |
//
// The second of these rows is the BAR1 window, which is not memory of the device. "N/A" and "Not
// Supported" give no reading.
var Table = scan.Dialect{
	Name:    "nvidia-smi",
	Needles: append([]string{smiHead, querySection, queryProcess, queryHead}, smiRowNeedles...),
	Read: func(l *scan.Line, at int) int {
		switch text := l.Text[at:]; {
		case bytes.HasPrefix(text, []byte(smiHead)):
			return readSMITable(l, at)
		case text[0] == 'M' && text[1] != 'e':
			return readSMIRow(l, at)
		}
		return readSMIQuery(l, at)
	},
}

// smiRowNeedles are the texts that rows about memory contain.
var smiRowNeedles = []string{"MiB /", "MB / ", "MiB |", "MiB  |", "MB  |"}

const (
	smiHead = "NVIDIA-SMI "
	maxRow  = 1 << 10 // longest row, in bytes
	maxSkip = 16      // most lines between two rows of a table
)

// readSMITable reads a table, beginning at its first line.
func readSMITable(l *scan.Line, at int) (end int) {
	if at < 2 || l.Text[at-2] != '|' || !bytes.Contains(l.Text[at:], []byte("Driver Version")) {
		return 0
	}
	var date smiDate
	for n := 1; n <= 4 && date.t.IsZero(); n++ { // a border lies between the time and the table
		text, ok := l.Previous(n)
		if !ok {
			break
		}
		date = findDate(text)
	}
	above, skipped := []byte(nil), 0
	for skipped < maxSkip {
		text, ok := l.Peek(skipped + 1)
		if !ok || !isBoxed(text) || bytes.Contains(text, []byte(smiHead)) {
			break
		}
		row := newSMIRow(text, above)
		above = append(above[:0], text...)
		if row == nil {
			skipped++
			continue
		}
		for ; skipped >= 0; skipped-- {
			l.Next()
		}
		skipped = 0
		row.add(l, date)
	}
	return len(l.Text)
}

// isBoxed reports whether a line may be part of a table: the line is blank, or it ends with the
// right edge of the box.
func isBoxed(text []byte) bool {
	text = bytes.TrimRight(text, " \t")
	return len(text) <= maxRow && (len(text) == 0 || text[len(text)-1] == '|' ||
		text[len(text)-1] == '+')
}

// readSMIRow reads a row without its table, as nvidia-smi | grep MiB prints it.
func readSMIRow(l *scan.Line, at int) (end int) {
	if len(l.Text) > maxRow {
		return 0
	}
	for _, needle := range smiRowNeedles {
		if bytes.Contains(l.Text[:at], []byte(needle)) {
			return 0 // an earlier needle has read this line
		}
	}
	above, _ := l.Previous(1)
	row := newSMIRow(l.Text, above)
	if row == nil {
		return 0
	}
	row.add(l, smiDate{})
	return len(l.Text)
}
