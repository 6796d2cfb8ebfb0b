package speakers

import (
	"flag"
	"os"
	"testing"
)

// TestMain fixes the seed, so that the tests try the same cases every time and no build fails by
// chance. The flag -rapid.seed sets another seed.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
