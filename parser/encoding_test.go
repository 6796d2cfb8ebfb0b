package parser_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/klauspost/compress/zstd"

	"vramsoak/parser"
	"vramsoak/parser/record"
)

// TestOpenEncodings: a log gives the same records in every encoding that Windows uses, compressed
// or not.
func TestOpenEncodings(t *testing.T) {
	const log = "loading Ü😀\r\n" + line + "\r\n[GPU Memory] Before Ü😀 Cleanup: Allocated: 7.23GB\r\n"
	units := utf16.Encode([]rune("\ufeff" + log))
	var little, big, zipped, packed bytes.Buffer
	for _, u := range units {
		little.Write(binary.LittleEndian.AppendUint16(nil, u))
		big.Write(binary.BigEndian.AppendUint16(nil, u))
	}
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write(little.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	zs, err := zstd.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := zs.Write([]byte("\ufeff" + log)); err != nil {
		t.Fatal(err)
	}
	if err := zs.Close(); err != nil {
		t.Fatal(err)
	}
	want := read(t, log)
	if len(want) != 2 || want[1].At().Line != 3 ||
		want[1].(record.Checkpoint).Name != "Before Ü😀 Cleanup" {
		t.Fatalf("the log itself gives %v", want)
	}
	for name, data := range map[string][]byte{
		"plain": []byte(log), "utf-8": []byte("\ufeff" + log), "utf-16le": little.Bytes(),
		"utf-16be":    big.Bytes(),
		"utf-16le.gz": zipped.Bytes(), "utf-8.zst": packed.Bytes(),
		"cut": little.Bytes()[:little.Len()-3],
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := parser.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		var got []record.Record
		for rec, err := range parser.Read(r, "run.log") {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, rec)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(
			want,
			got,
			cmp.AllowUnexported(record.Reading{}, record.Resources{}),
			cmpopts.EquateEmpty(),
		); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestOpenShort: an empty file, or a file shorter than a byte order mark, gives no records and no
// error.
func TestOpenShort(t *testing.T) {
	for _, data := range []string{
		"", "\xff", "\xff\xfe", "\xfe\xff", "\xef\xbb", "\xef\xbb\xbf", "\n",
		"{", "\x0a\x04",
	} {
		path := filepath.Join(t.TempDir(), "short.log")
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := parser.Open(path)
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		for rec, err := range parser.Read(r, "short.log") {
			t.Errorf("%q: got %v, %v, want no record", data, rec, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
