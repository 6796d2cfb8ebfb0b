package bounded

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("12345678")
	if text, err := ReadFile(path, 8); err != nil || string(text) != "12345678" {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := ReadFile(path, 7); text != nil || err == nil ||
		err.Error() != path+": expected a file of at most 7 bytes, found one of 8 bytes; "+
			"is this the right file?" {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := ReadAll(strings.NewReader("12345678"), "standard input", 7); text != nil ||
		err == nil ||
		err.Error() != "standard input: expected a file of at most 7 bytes, found more; "+
			"is this the right file?" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := ReadFile("/dev/zero", 1<<40); err == nil ||
		err.Error() != "/dev/zero: expected a file of at most 8 MiB, found more; "+
			"is this the right file?" {
		t.Error(err)
	}
	if _, err := ReadFile(filepath.Dir(path), 8); err == nil {
		t.Error("got no error for a folder")
	}
	if _, err := ReadFile(path+".none", 8); !os.IsNotExist(err) {
		t.Error(err)
	}
}

// TestReadJSON: the limit on values depends on the file's size. ReadJSON refuses 70,000 values of
// 3 bytes each, and accepts 70,000 values of 8 bytes each.
func TestReadJSON(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.json")
	for value, want := range map[string]string{
		"{},": "expected values of 8 bytes each on average, found 70000 values in 210000 bytes; " +
			"is this the right file?",
		`"abcde",`: "",
	} {
		if err := os.WriteFile(path, bytes.Repeat([]byte(value), 70_000), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadJSON(path, 1<<20); (err == nil) != (want == "") ||
			err != nil && err.Error() != path+": "+want {
			t.Errorf("%s: %v, expected %s", value, err, want)
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	read := func(text string) (lines []string, err error) {
		for line, bad := range Lines(strings.NewReader(text), "list.txt") {
			if bad != nil {
				err = bad
				continue
			}
			lines = append(lines, string(line))
		}
		return lines, err
	}
	if lines, err := read("a\n\nb"); err != nil || strings.Join(lines, "|") != "a\n|\n|b" {
		t.Errorf("%q, %v", lines, err)
	}
	if lines, err := read("a\n" + strings.Repeat("b", MaxLine-1) + "\n"); err != nil ||
		len(lines) != 2 {
		t.Errorf("%d lines, %v", len(lines), err)
	}
	if lines, err := read("a\n" + strings.Repeat("b", MaxLine+1)); len(lines) != 1 || err == nil ||
		err.Error() != "list.txt:2: expected a line of at most 64 KiB, found a longer one; "+
			"is this the right file?" {
		t.Errorf("%d lines, %v", len(lines), err)
	}
}
