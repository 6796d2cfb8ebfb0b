package table_test

import (
	"testing"

	"vramsoak/parser/dialect/dialecttest"
	"vramsoak/parser/dialect/table"
)

// TestBeginBehindLogger: ^ matches at the line's beginning, and behind the prefix of a logger. A name
// begins behind the prefix.
func TestBeginBehindLogger(t *testing.T) {
	program := table.Program{Name: "ours", Lines: []table.Line{
		{Pattern: `^mem (?P<used>\d+) at (?P<checkpoint>\w+)`, Unit: "MiB"},
		{Pattern: `^\S+ \S+ INFO own (?P<used>\d+)`, Unit: "MiB"},
		{Pattern: `(?P<checkpoint>[^:]+): GPU (?P<used>\d+)`, Unit: "MiB"},
	}}
	dialecttest.Run(t, program.Dialects(), []dialecttest.Case{
		{"^", `
mem 3 at start
2026-11-20 02:00:03,123 - asr.run - INFO - mem 4 at stop
not at the beginning: mem 5 at all
`, `
1 checkpoint "start" used=3MiB
2 checkpoint "stop" used=4MiB
`},
		{"a pattern with the prefix of the logger", `
2026-11-20 02:00:03,123 INFO own 6
`, `
1 checkpoint "ours" used=6MiB
`},
		{"a name", `
2026-11-20 02:00:03.123 | INFO     | __main__:run:41 - After init: GPU 7
INFO:asr.run:0: After init: GPU 8
`, `
1 checkpoint "After init" used=7MiB
2 checkpoint "After init" used=8MiB
`},
	})
}
