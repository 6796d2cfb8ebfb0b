package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
)

// TestAllowance: the memory limit follows the bytes of a file. For a compressed file, it follows
// the bytes that have been unpacked, whatever the file is called.
func TestAllowance(t *testing.T) {
	old := debug.SetMemoryLimit(-1)
	before := allowed.Swap(0)
	defer func() { debug.SetMemoryLimit(old); allowed.Store(before) }()
	text := bytes.Repeat([]byte("[GPU Memory] a: Allocated: 1GB\n"), 200_000)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	read := int64(0)
	for _, file := range []struct {
		name string
		data []byte
	}{
		{"plain.log", text},
		{"packed.log", packed.Bytes()},
		{"plain.gz", text},
		{"packed.gz", packed.Bytes()},
	} {
		path := filepath.Join(dir, file.name)
		if err := os.WriteFile(path, file.data, 0o600); err != nil {
			t.Fatal(err)
		}
		log, _, err := readOptions{}.open(path)
		if err != nil {
			t.Fatal(err)
		}
		begun := debug.SetMemoryLimit(-1)
		if _, err := io.Copy(io.Discard, log); err != nil {
			t.Fatal(err)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		read += int64(len(text))
		got, want := debug.SetMemoryLimit(-1), allowedFree+allowedPerByte*read
		if got > want || got < want-4*allowedPerByte*allowedStep {
			t.Errorf("%s: found a limit of %d bytes after reading %d, expected %d", file.name, got,
				read, want)
		}
		if packed := len(file.data) < len(text); packed == (begun == got) {
			t.Errorf("%s: a limit of %d bytes at its beginning, of %d at its end", file.name,
				begun, got)
		}
	}
}
