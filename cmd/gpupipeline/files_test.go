//go:build whisper

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"vramsoak/parser"
	"vramsoak/parser/record"
)

// TestStdin: paths on stdin are processed as they arrive. The test writes the next path only after
// the last file is done.
func TestStdin(t *testing.T) {
	t.Parallel()
	cmd := command(t, "--model", model, "--stdin")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	next := audioFiles(t)[:3]
	feed := func() {
		if len(next) == 0 {
			if err := stdin.Close(); err != nil {
				t.Error(err)
			}
			return
		}
		if _, err := fmt.Fprintf(stdin, "\n%s\n", next[0]); err != nil {
			t.Fatal(err)
		}
		next = next[1:]
	}
	feed()
	ended := 0
	for rec, err := range parser.Read(stdout, "log") {
		if err != nil {
			t.Fatal(err)
		}
		if end, ok := rec.(record.FileEnd); ok {
			if end.Status != record.StatusOK {
				t.Errorf("%+v", end)
			}
			ended++
			feed()
		}
	}
	if err := cmd.Wait(); err != nil || ended != 3 {
		t.Errorf("%d files ended, %v", ended, err)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	list := filepath.Join(t.TempDir(), "batch.txt")
	if err := os.WriteFile(list, []byte(strings.Join(audioFiles(t)[:2], "\r\n")),
		0o666); err != nil {
		t.Fatal(err)
	}
	if log, stderr, exit := gpupipeline(t, "--model", model, "--list", list); exit != "0" ||
		statuses(log) != "ok ok" {
		t.Errorf("exit %s, files %s, stderr %s", exit, statuses(log), stderr)
	}
}

// TestOrder: missing files come first, then the smallest ones. Files of equal size keep their
// order.
func TestOrder(t *testing.T) {
	t.Parallel()
	files := audioFiles(t)
	sizes := map[string]int64{}
	for _, path := range files {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		sizes[path] = info.Size()
	}
	given := append(slices.Clone(files), filepath.Join(batch, "missing.wav"))
	want := slices.Clone(given)
	slices.SortStableFunc(want, func(a, b string) int { return cmp.Compare(sizes[a], sizes[b]) })
	if slices.Equal(given, want) {
		t.Fatal("the batch is in order already")
	}
	for order, want := range map[string][]string{"given": given, "smallest": want} {
		var got []string
		for path, err := range paths(t.Context(), &options{order: order, paths: given}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, path)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: expected %q, found %q", order, want, got)
		}
	}
}

// TestListBreaksOff: if the list cannot be read further, the batch ends. A path that may be
// incomplete is not processed.
func TestListBreaksOff(t *testing.T) {
	t.Parallel()
	broken := errors.New("input/output error")
	var got []string
	for path, err := range func(yield func(string, error) bool) {
		each(t.Context(), io.MultiReader(strings.NewReader("a.wav\nb/long-na"),
			iotest.ErrReader(broken)), "--list", yield)
	} {
		if err != nil {
			got = append(got, err.Error())
			continue
		}
		got = append(got, path)
	}
	if want := []string{"a.wav", "--list: input/output error"}; !slices.Equal(got, want) {
		t.Errorf("expected %q, found %q", want, got)
	}
}
