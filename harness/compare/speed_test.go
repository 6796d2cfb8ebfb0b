package compare_test

import (
	"math/rand/v2"
	"testing"

	"vramsoak/harness/check"
	"vramsoak/harness/compare"
)

func BenchmarkCompare(b *testing.B) {
	for _, c := range []struct {
		name   string
		files  int
		paired bool
	}{
		{"60 files", 60, true},
		{"25 other files", 25, false},
		{"10000 files", 10_000, true},
		{"10000 other files", 10_000, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(7, 8))
			base, now := simulate(r, c.files, 0), simulate(r, c.files, 0)
			if !c.paired {
				for i := range now.Files {
					now.Files[i].Path = "other " + now.Files[i].Path
				}
			}
			for b.Loop() {
				compare.Compare(base, now, check.DefaultPolicy().Regression)
			}
		})
	}
}
