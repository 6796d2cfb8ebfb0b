package dialect

import (
	"bytes"

	"vramsoak/parser/dialect/smi"
	"vramsoak/parser/record"
	"vramsoak/parser/source"
)

// FindHeadless returns an error for the first row of a table whose header is missing, such as a row
// of nvidia-smi's CSV or of YOLO. The text is the beginning of a log without readings. Such a log
// was tailed, cut or rotated. ok is false if the text has no such row.
func FindHeadless(text []byte, path string) (bad record.SyntaxError, ok bool) {
	bad, ok = smi.FindHeadless(text, path)
	number := 0
	for raw := range bytes.Lines(text) {
		if number++; ok && number >= bad.Pos.Line {
			break
		}
		line := source.Unwrapped(bytes.TrimRight(raw, "\r\n"))
		for piece := range bytes.SplitSeq(line, []byte{'\r'}) {
			if _, at, isRow := yoloRow(piece); isRow && yoloLosses(piece[at:]) {
				bad = headlessYolo(piece[at:])
				bad.Pos, bad.Dialect = record.Position{Path: path, Line: number}, yoloDialect.Name
				return bad, true
			}
		}
	}
	return bad, ok
}
