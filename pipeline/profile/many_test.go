package profile

import (
	"fmt"
	"strings"
	"testing"

	"vramsoak/parser"
)

// TestManyStages: a log in which every stage has another name gives an error, instead of a profile
// of 40 MB that cannot be read.
func TestManyStages(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	for i := range 129 {
		fmt.Fprintf(&log, "[GPU Memory] Before Chunk %c%c: Allocated: 1.00GB\n", 'A'+i/26, 'a'+i%26)
		fmt.Fprintf(&log, "[GPU Memory] After Chunk %c%c: Allocated: 1.00GB\n", 'A'+i/26, 'a'+i%26)
	}
	tl, err := parser.Build(parser.Read(strings.NewReader(log.String()), "x.log"))
	if err != nil {
		t.Fatal(err)
	}
	const want = `expected at most 128 stages of different names, found 129, the last "Chunk Ey"; ` +
		"give a stage one name in all files"
	if _, err := Learn(tl); err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}
