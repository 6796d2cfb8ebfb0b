package main

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vramsoak/harness/queue"

	"github.com/google/go-cmp/cmp"
)

// TestInRounds: a seed gives the same order with every version of Go. A Python program with
// PCG-DXSM and Fisher and Yates's shuffle computed the orders.
func TestInRounds(t *testing.T) {
	seed := func(s uint64) *uint64 { return &s }
	tests := []struct {
		files  string
		repeat int
		seed   *uint64
		want   string
	}{
		{"abc", 1, nil, "abc"},
		{"abc", 3, nil, "abcabcabc"},
		{"", 1, nil, ""},
		{"a", 2, seed(5), "aa"},
		{"abcdef", 1, seed(0), "acfedb"},
		{"abcdef", 2, seed(0), "acfedb" + "fbecda"},
		{"abcdef", 2, seed(1), "bfecad" + "bcfaed"},
		{"abcdef", 2, seed(1<<64 - 1), "cadfeb" + "baefcd"},
	}
	for _, test := range tests {
		var files []queue.Input
		for name := range strings.SplitSeq(test.files, "") {
			files = append(files, queue.Input{Path: name, AudioSeconds: 1})
		}
		all, _, err := rounds{repeat: test.repeat, seed: test.seed}.of(files)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, f := range all {
			got += f.Path
			if f.AudioSeconds != 1 {
				t.Errorf("%s has lost its length", f.Path)
			}
		}
		if got != test.want {
			t.Errorf("%s %d times: got %s, want %s", test.files, test.repeat, got, test.want)
		}
	}
}

// TestInputLengths: a length in the manifest counts first. Otherwise the header of a WAV file has
// it. Other files have no known length.
func TestInputLengths(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	wav, err := binary.Append([]byte("RIFF\x24\x7d\x00\x00WAVEfmt "), binary.LittleEndian,
		[]uint32{16, 1 | 1<<16, 8000, 16000, 2 | 16<<16}) // PCM, one channel, 8 kHz, 16 bits
	if err != nil {
		t.Fatal(err)
	}
	wav = append(wav, "data\x00\x7d\x00\x00"...) // 32000 bytes: 2 s
	wav = append(wav, make([]byte, 32000)...)
	write("a.wav", string(wav))
	write("b.wav", "not a wave")
	write("c.wav", string(wav[:44+8000]))
	lengths := func(source string) map[string]float64 {
		t.Helper()
		files, err := inputs("--files", []string{source}, missing)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, f := range files {
			got[filepath.Base(f.Path)] = f.AudioSeconds
		}
		return got
	}
	want := map[string]float64{"a.wav": 2, "b.wav": 0, "c.wav": 0.5}
	if diff := cmp.Diff(want, lengths(dir)); diff != "" {
		t.Errorf("folder (-want +got):\n%s", diff)
	}
	write("list.txt", "# a comment\n\n"+filepath.Join(dir, "a.wav")+
		"\r\n \ns3://bucket/missing.wav\n")
	want = map[string]float64{"a.wav": 2, "missing.wav": 0}
	if diff := cmp.Diff(want, lengths(filepath.Join(dir, "list.txt"))); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	write("manifest.json",
		`{"schema": "vramsoak.manifest/1", "sample_rate": 8000, `+
			`"files": [{"path": "a.wav", "seconds": 2.5}]}`)
	if diff := cmp.Diff(map[string]float64{"a.wav": 2.5}, lengths(dir)); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
}
