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
// line above the table gives the time. Other programs may print lines between the rows. If no row
// names the device, the line gives an error, unless it is alone. On a machine with one device,
// nvidia-smi | grep MiB prints such a line. The memory of a process or a MIG device is part of its
// device:
//
//	|  0    3   0   0  |              12MiB /  5952MiB  | 14      0 |  1   0    1    0    0 |
//	|                  |               0MiB /  8191MiB  |           |                       |
//
// The second of these rows is the BAR1 window, which is not memory of the device. "N/A" and "Not
// Supported" give no reading.
var Table = scan.Dialect{
	Name:    "nvidia-smi",
	Needles: append([]string{querySection, queryProcess, queryHead}, smiRowNeedles...),
	Read: func(l *scan.Line, at int) int {
		if text := l.Text[at:]; text[0] == 'M' && text[1] != 'e' {
			return readSMIRow(l, at)
		}
		return readSMIQuery(l, at)
	},
}

// smiRowNeedles are the texts that rows about memory contain.
var smiRowNeedles = []string{"MiB /", "MB / ", "MiB |", "MiB  |", "MB  |"}

const (
	smiHead = "| NVIDIA-SMI "
	maxRow  = 1 << 10 // longest row, in bytes
)

// readSMIRow reads a row about memory. Each row is read by itself, because other programs may print
// lines between the rows of a table. What the row itself does not say is in the rows above, see
// [smiRow.locate].
func readSMIRow(l *scan.Line, at int) (end int) {
	if len(l.Text) > maxRow {
		return 0
	}
	for _, needle := range smiRowNeedles {
		if bytes.Contains(l.Text[:at], []byte(needle)) {
			return 0 // an earlier needle has read this line
		}
	}
	row := newSMIRow(l.Text)
	if row == nil {
		return 0
	}
	row.add(l)
	return len(l.Text)
}
