package parser

import (
	"bytes"
	"testing"
)

func BenchmarkTeddyClean(b *testing.B) {
	buf := bytes.Repeat([]byte("abcdefghijkl 0123 "), 1<<15)
	b.SetBytes(int64(len(buf)))
	for b.Loop() {
		teddy(buf, &allDialects.tables)
	}
}

func BenchmarkIndexClean(b *testing.B) {
	buf := bytes.Repeat([]byte("abcdefghijkl 0123 "), 1<<15)
	b.SetBytes(int64(len(buf)))
	for b.Loop() {
		bytes.Index(buf, []byte("GPU Memory"))
	}
}
func BenchmarkCount(b *testing.B) {
	buf := bytes.Repeat([]byte("abcdefghijkl 0123 "), 1<<15)
	b.SetBytes(int64(len(buf)))
	for b.Loop() {
		bytes.Count(buf, newline)
	}
}

func BenchmarkTeddyHits(b *testing.B) {
	buf := bytes.Repeat(append(bytes.Repeat([]byte("abcdefghijkl 0123 "), 78), "memory"...), 400)
	b.SetBytes(int64(len(buf)))
	for b.Loop() {
		for at := 0; ; at++ {
			n, set := teddy(buf[at:], &allDialects.tables)
			at += n
			if set == 0 {
				break
			}
		}
	}
}

func BenchmarkNextHits(b *testing.B) {
	buf := bytes.Repeat(append(bytes.Repeat([]byte("abcdefghijkl 0123 "), 78), "memory"...), 400)
	b.SetBytes(int64(len(buf)))
	for b.Loop() {
		allDialects.next(buf, 0)
	}
}
