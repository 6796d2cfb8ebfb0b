package check_test

import (
	"cmp"
	"os"
	"path/filepath"
	"testing"

	"vramsoak/fixtures"
	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/parser/timeline"
)

// BenchmarkCheck reads and judges logs of 64 MiB. make bench-parse compares its time with that of
// the searches that people use.
func BenchmarkCheck(b *testing.B) {
	for _, kind := range fixtures.LogKinds {
		b.Run(kind, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "run.log")
			out, err := os.Create(path)
			if err != nil {
				b.Fatal(err)
			}
			spec := fixtures.LogSpec{Kind: kind, Size: 64 << 20, Seed: 1}
			if err := cmp.Or(fixtures.Log(out, spec), out.Close()); err != nil {
				b.Fatal(err)
			}
			info, err := os.Stat(path)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(info.Size())
			b.ReportAllocs()
			for b.Loop() {
				log, err := parser.Open(path)
				if err != nil {
					b.Fatal(err)
				}
				j := check.New(check.DefaultPolicy())
				builder := &parser.Builder{Builder: timeline.Builder{Done: func(f *timeline.File) { j.Add(f) }}}
				if err := builder.Read(log, path); err != nil {
					b.Fatal(err)
				}
				j.Report(builder.Timeline())
				if err := log.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
