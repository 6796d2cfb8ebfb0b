package check_test

import (
	"os"
	"testing"

	"vramsoak/harness/check"
	"vramsoak/parser"
)

func BenchmarkCheck(b *testing.B) {
	path := os.Getenv("BENCH_LOG")
	if path == "" {
		b.Skip()
	}
	for b.Loop() {
		log, err := parser.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		j := check.New(check.DefaultPolicy())
		bl := &parser.Builder{Done: j.Add}
		if err := bl.Read(log, "x"); err != nil {
			b.Fatal(err)
		}
		j.Report(bl.Timeline())
	}
}
