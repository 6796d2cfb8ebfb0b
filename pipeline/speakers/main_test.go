package speakers

import (
	"flag"
	"os"
	"testing"
)

// The properties are tried on the same cases every time, so that a build does not fail by chance.
// -rapid.seed tries others.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
