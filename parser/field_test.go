package parser_test

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"vramsoak/parser"
	"vramsoak/parser/lex"
	"vramsoak/parser/record"
)

// TestFieldLogs reads the logs in fixtures/logs. These logs are copies of files in public
// repositories; fixtures/logs/INDEX.md names the origin of each log. Each folder has a file
// expected.txt, which lists what the parser must find in each log of the folder:
//
//	file: train.log
//	  by: grep -c MemAllocated= train.log
//	  readings: 43
//	  by: grep -oP 'MaxMemAllocated=\K[0-9.]+' train.log | sort -n | tail -1
//	  peak: peak=20.55GB
//	  dialects: deepspeed
//
// The key "by" gives the command that printed the number in the next line, so no number comes from
// the parser. The key "readings" counts checkpoints. The key "peak" gives the largest value of
// each quantity. The keys "changes", "events", "ooms", "warnings" and "bad" (unreadable lines)
// count other records. If one of these keys is missing, its count is 0.
func TestFieldLogs(t *testing.T) {
	folders, err := filepath.Glob("../fixtures/logs/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no folders: %v", err)
	}
	for _, folder := range folders {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			continue
		}
		expected := readExpected(t, filepath.Join(folder, "expected.txt"))
		files, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if file.Name() == "expected.txt" {
				continue
			}
			path := filepath.Join(folder, file.Name())
			t.Run(filepath.Base(folder)+"/"+file.Name(), func(t *testing.T) {
				want, known := expected[file.Name()]
				if !known {
					t.Fatalf("%s/expected.txt has no entry for this log", folder)
				}
				want.compare(t, contents(t, path))
			})
			delete(expected, file.Name())
		}
		for name := range expected {
			t.Errorf("%s: expected.txt lists %s, which does not exist", folder, name)
		}
	}
}

// A content holds the counts, peaks and dialects of one log: those in expected.txt, or those that
// the parser found.
type content struct {
	counts   map[string]int // by the keys of expected.txt, such as "readings"
	peaks    map[record.Quantity]int64
	dialects []string
}

func readExpected(t *testing.T, path string) map[string]*content {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	all := map[string]*content{}
	var c *content
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		key, value, found := strings.Cut(strings.TrimSpace(lines.Text()), ": ")
		switch {
		case strings.TrimSpace(lines.Text()) == "" || strings.HasPrefix(lines.Text(), "#") || key == "by":
		case !found || c == nil && key != "file":
			t.Fatalf("%s:%d: expected key: value", path, n)
		case key == "file":
			c = &content{counts: map[string]int{}, peaks: map[record.Quantity]int64{}}
			all[value] = c
		case key == "dialects":
			if c.dialects = strings.Fields(value); value == "none" {
				c.dialects = nil
			}
		case key == "peak":
			for field := range strings.FieldsSeq(value) {
				name, text, _ := strings.Cut(field, "=")
				q, err := record.ParseQuantity(name)
				if err != nil {
					t.Fatalf("%s:%d: %v", path, n, err)
				}
				size, err := lex.ParseSize(text)
				if err != nil {
					t.Fatalf("%s:%d: %v", path, n, err)
				}
				c.peaks[q] = size.Bytes
			}
		default:
			count, err := strconv.Atoi(value)
			if err != nil ||
				!slices.Contains([]string{"readings", "changes", "events", "ooms", "warnings", "bad"}, key) {
				t.Fatalf("%s:%d: expected a count after %s", path, n, key)
			}
			c.counts[key] = count
		}
	}
	return all
}

func contents(t *testing.T, path string) *content {
	t.Helper()
	r, err := parser.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	c := &content{counts: map[string]int{}, peaks: map[record.Quantity]int64{}}
	for rec, err := range parser.Read(r, path) {
		if err != nil {
			t.Fatal(err)
		}
		switch r := rec.(type) {
		case record.Checkpoint:
			c.counts["readings"]++
			for q, s := range r.All() {
				c.peaks[q] = max(c.peaks[q], s.Bytes)
			}
			c.dialects = append(c.dialects, r.Dialect)
		case record.Change:
			c.counts["changes"]++
			c.dialects = append(c.dialects, r.Dialect)
		case record.Event:
			c.counts["events"]++
			c.dialects = append(c.dialects, r.Dialect)
		case record.OutOfMemory:
			c.counts["ooms"]++
			c.dialects = append(c.dialects, r.Dialect)
		case record.Warning:
			c.counts["warnings"]++
			c.dialects = append(c.dialects, r.Dialect)
		case record.SyntaxError:
			c.counts["bad"]++
			t.Log(r.Error())
		}
	}
	slices.Sort(c.dialects)
	c.dialects = slices.Compact(c.dialects)
	return c
}

func (c *content) compare(t *testing.T, got *content) {
	t.Helper()
	for _, key := range []string{"readings", "changes", "events", "ooms", "warnings", "bad"} {
		if got.counts[key] != c.counts[key] {
			t.Errorf("%s: got %d, want %d", key, got.counts[key], c.counts[key])
		}
	}
	for q, want := range c.peaks {
		if got.peaks[q] != want {
			t.Errorf("peak %s: got %d bytes, want %d", q, got.peaks[q], want)
		}
	}
	slices.SortFunc(c.dialects, cmp.Compare)
	if a, b := fmt.Sprint(got.dialects), fmt.Sprint(c.dialects); a != b {
		t.Errorf("dialects: got %s, want %s", a, b)
	}
}
