package parser_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/tools/txtar"

	"vramsoak/parser"
	"vramsoak/parser/record"
)

// TestNotebookField: a real notebook gives the same records as its outputs, which the test
// extracts with encoding/json. The line of each record is the line of the file that holds the
// record's text.
func TestNotebookField(t *testing.T) {
	paths, err := filepath.Glob("../fixtures/logs/*/*.ipynb")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no notebooks: %v", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			// The test replaces a common word by a checkpoint, in the notebook and in the text of
			// its outputs. Both must give the same checkpoints.
			text := outputs(t, data)
			for _, mark := range []string{"MiB", "memory", "total", "GPU"} {
				marked := bytes.ReplaceAll(data, []byte(mark), []byte("[GPU Memory] X: Allocated: 1GB"))
				want := read(t, strings.ReplaceAll(text, mark, "[GPU Memory] X: Allocated: 1GB"))
				got := read(t, string(marked))
				opts := cmp.Options{
					cmpopts.IgnoreFields(record.Header{}, "Pos"), cmp.AllowUnexported(record.Reading{}),
				}
				if diff := cmp.Diff(want, got, opts); diff != "" {
					t.Errorf("%s (-want +got):\n%s", mark, diff)
				}
				lines := strings.Split(string(marked), "\n")
				for _, rec := range got {
					if c, ok := rec.(record.Checkpoint); ok && c.Dialect == "transcription" &&
						!strings.Contains(lines[rec.At().Line-1], "[GPU Memory]") {
						t.Errorf("%s: a checkpoint at line %d: %s", mark, rec.At().Line, lines[rec.At().Line-1])
					}
				}
			}
		})
	}
}

// outputs returns the text of a notebook's outputs. Each output ends with a newline.
func outputs(t *testing.T, notebook []byte) string {
	t.Helper()
	var nb struct {
		Cells []struct {
			Outputs []struct {
				Text      any
				Data      map[string]any
				Traceback []string
			}
		}
	}
	if err := json.Unmarshal(notebook, &nb); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	add := func(text any) {
		switch text := text.(type) {
		case string:
			b.WriteString(text)
		case []any:
			for _, part := range text {
				b.WriteString(part.(string))
			}
		}
		b.WriteByte('\n')
	}
	for _, c := range nb.Cells {
		for _, o := range c.Outputs {
			add(o.Text)
			add(o.Data["text/plain"])
			add(strings.Join(o.Traceback, "\n"))
		}
	}
	return b.String()
}

const notebookHead = `{"cells": [{"cell_type": "code", "outputs": [`

// TestNotebookCut: a notebook that is cut off at any byte gives the records before the cut and
// one error.
func TestNotebookCut(t *testing.T) {
	archive, err := txtar.ParseFile("../fixtures/parser/notebook.txtar")
	if err != nil {
		t.Fatal(err)
	}
	log := bytes.TrimSpace(archive.Files[0].Data)
	whole := read(t, string(log))
	for n := 100; n < len(log); n++ {
		got := read(t, string(log[:n]))
		bad, ok := got[len(got)-1].(record.SyntaxError)
		if !ok || bad.Pos.Line != bytes.Count(log[:n], []byte("\n"))+1 {
			t.Fatalf("cut at %d: got %v last, want the error", n, got[len(got)-1])
		}
		if len(got)-1 > len(whole) {
			t.Fatalf("cut at %d: got %d records, the whole notebook has %d", n, len(got)-1, len(whole))
		}
	}
}

func TestNotebookHostile(t *testing.T) {
	for name, log := range map[string]string{
		"deep":       notebookHead + strings.Repeat(`[`, 1<<20),
		"deep sheet": `{"worksheets": ` + strings.Repeat(`[{"worksheets": `, 1<<20) + `"nbformat"`,
		"long key":   `{"nbformat": 4, "` + strings.Repeat("k", 1<<20) + `": 1}`,
		"long word":  `{"nbformat": 4, "cells": ` + strings.Repeat("9", 1<<20) + `}`,
	} {
		if got := read(t, log); len(got) > 1 {
			t.Errorf("%s: got %d records", name, len(got))
		}
	}
	broken := errors.New("the disk is gone")
	for _, head := range []string{
		notebookHead,
		notebookHead + `{"text": "` + strings.Repeat("#", 1<<20),
	} {
		failures := 0
		for rec, err := range parser.Read(io.MultiReader(strings.NewReader(head),
			iotest.ErrReader(broken)), "run.ipynb") {
			if rec != nil || !errors.Is(err, broken) {
				t.Errorf("got %v, %v", rec, err)
			}
			failures++
		}
		if failures != 1 {
			t.Errorf("got %d errors, want 1", failures)
		}
	}
}

func FuzzNotebook(f *testing.F) {
	for _, name := range []string{"notebook", "notebook-v3", "notebook-broken"} {
		archive, err := txtar.ParseFile("../fixtures/parser/" + name + ".txtar")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(archive.Files[0].Data)
	}
	// The fuzzed bytes begin inside the outputs of a cell, because they can reach every other
	// part from there.
	f.Fuzz(func(t *testing.T, rest []byte) {
		log := append([]byte(notebookHead), rest...)
		for rec := range fuzzed(t, log, "fuzz") {
			if bad, ok := rec.(record.SyntaxError); ok && bad.Dialect == "notebook" && json.Valid(log) {
				t.Fatalf("got %v in valid JSON", bad)
			}
		}
	})
}
