package filetype_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"vramsoak/parser/dialect/dialecttest"
	"vramsoak/parser/filetype"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// TestOf: notebooks, profiles and pickles are recognised by their first bytes. A log that begins
// like a notebook is read as a log.
func TestOf(t *testing.T) {
	for head, want := range map[string]bool{
		`{"cells": [{"cell_type": "code"}], "nbformat": 4}`:                true,
		"\ufeff{\n \"metadata\": {}, \"nbformat\": 3, \"worksheets\": []}": true,
		string(jaxProfile(t, "buffer", "cuda:0", 1024)):                    true,
		"\x80\x02}q\x00(X\x08\x00\x00\x00segments":                         true,
		"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00}\x94":                true,
		"\x80\x05K\x01.":                      true,
		"\x80\x06K\x01.":                      false,
		"\x80\x02":                            false,
		`{"cells": [1, 2], "loss": 0.5}`:      false,
		`{"event": "summary", "nbformat": 4}`: false,
		`cells: "nbformat"`:                   false,
		"[GPU Memory] A: Allocated: 1.00GB\n": false,
		"\n\x04\x08\x01\x10":                  false,
		"":                                    false,
	} {
		if got := filetype.Of([]byte(head)) != nil; got != want {
			t.Errorf("%.60q: got %t", head, got)
		}
	}
}

// TestNotebook: only the outputs in a notebook give records, not its source or its text. A
// record's line number is that of its string in the notebook file. If the file is cut off, its
// last line gives an error.
func TestNotebook(t *testing.T) {
	for _, c := range []dialecttest.Case{
		{"outputs, not the source", `{"nbformat": 4, "cells": [
{"cell_type": "markdown", "source": ["used 1 MiB"]},
{"cell_type": "code", "source": ["print('used 2 MiB')"], "outputs": [
 {"output_type": "stream", "name": "stdout", "text": [
  "used 3 MiB\n",
  "used 4 MiB"]},
 {"output_type": "execute_result", "data": {"text/html": ["used 5 MiB"], "text/plain": ["used 6 MiB"]}}
]}]}`, `
5 checkpoint "used" used=3MiB
6 checkpoint "used" used=4MiB
7 checkpoint "used" used=6MiB
`},
		{
			"a line in two strings, and two lines in one",
			`{"nbformat": 4, "cells": [{"cell_type": "code", "outputs": [
 {"output_type": "stream", "text": ["used 1",
  "2 MiB\nused 3 MiB\rused 4 MiB"]}]}]}`, `
2 checkpoint "used" used=12MiB
3 checkpoint "used" used=3MiB
3 checkpoint "used" used=4MiB
`,
		},
		{"two outputs are not one line", `{"nbformat": 4, "cells": [{"cell_type": "code", "outputs": [
 {"output_type": "stream", "text": ["used 1"]},
 {"output_type": "stream", "text": ["2 MiB"]}]}]}`, ``},
		{
			"the message of an error without its traceback",
			`{"nbformat": 4, "cells": [{"cell_type": "code", "outputs": [
 {"output_type": "error", "ename": "E", "evalue": "used 7 MiB", "traceback": []}]}]}`, `
2 checkpoint "used" used=7MiB
`,
		},
		{
			"the message of an error with its traceback, once",
			`{"nbformat": 4, "cells": [{"cell_type": "code", "outputs": [
 {"output_type": "error", "ename": "E", "evalue": "used 7 MiB", "traceback": ["E: used 7 MiB"]}]}]}`, `
2 checkpoint "used" used=7MiB
`,
		},
		{"a notebook that breaks off", `{"nbformat": 4, "cells": [{"cell_type": "code", "outputs": [
 {"output_type": "stream", "text": ["used 1 MiB\n",
  "used 2 Mi`, `
2 checkpoint "used" used=1MiB
3 unreadable: expected the rest of a string, found "the end"
`},
	} {
		t.Run(c.Name, func(t *testing.T) {
			dialecttest.Compare(t, c.Want, read(t, []byte(c.Log)))
		})
	}
}

// TestProfile: a profile gives the sum of each device's buffers. Buffers in host memory give no
// record, and a broken profile gives only an error.
func TestProfile(t *testing.T) {
	whole := jaxProfile(t, "buffer", "cuda:1", 2*record.MiB)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"a device": {whole, `1 checkpoint "buffers" gpu1 allocated=2MiB`},
		"host memory": {
			jaxProfile(t, "buffer", "TFRT_CPU_0", 1024),
			`1 warning failed "the profile's buffers are on TFRT_CPU_0, in host memory"`,
		},
		"no device": {jaxProfile(t, "buffer", "", 1024), `1 unreadable: expected a buffer's device such as cuda:0, which the profiles of old versions of jaxlib do not have, found ""`},
		"another kind": {
			jaxProfile(t, "thread", "cuda:1", 1024),
			`1 unreadable: expected a sample's kind, buffer or executable, found "thread"`,
		},
		"cut off": {whole[:len(whole)-3], `1 unreadable: expected a whole profile in the pprof format, found "a message that is cut off or broken"`},
	} {
		t.Run(name, func(t *testing.T) { dialecttest.Compare(t, c.want, read(t, c.data)) })
	}
}

// TestPickle: a pickle gives one error, which names the command that reads it.
func TestPickle(t *testing.T) {
	for name, want := range map[string]string{
		"oom.log": "oom.log:1: expected a log, found \"a pickle\"; " +
			"for a memory snapshot of PyTorch run: vramsoak snapshot oom.log",
		"standard input": "standard input:1: expected a log, found \"a pickle\"; " +
			"for a memory snapshot of PyTorch run: vramsoak snapshot -",
	} {
		var got []string
		data := "\x80\x04\x95 used 1 MiB\nused 2 MiB\n"
		filetype.Of([]byte(data)).Read(strings.NewReader(data), name, nil,
			func(rec record.Record, err error) bool {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, rec.(record.SyntaxError).Error())
				return true
			})
		if len(got) != 1 || got[0] != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func read(t *testing.T, data []byte) string {
	t.Helper()
	f := filetype.Of(data)
	if f == nil {
		t.Fatal("no form")
	}
	var b strings.Builder
	dialects := scan.NewDialects([]*scan.Dialect{&dialecttest.Used})
	f.Read(bytes.NewReader(data), "run", dialects, func(rec record.Record, err error) bool {
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(dialecttest.Line(rec))
		return true
	})
	return b.String()
}

// jaxProfile returns a profile as JAX writes it, with one sample.
func jaxProfile(t *testing.T, kind, device string, size int64) []byte {
	t.Helper()
	sample := &profile.Sample{
		Value: []int64{1, size}, Label: map[string][]string{"kind": {kind}},
	}
	if device != "" {
		sample.Label["device"] = []string{device}
	}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{
			{Type: "allocations", Unit: "count"}, {Type: "space", Unit: "bytes"},
		},
		Sample: []*profile.Sample{sample},
	}
	var b bytes.Buffer
	if err := p.WriteUncompressed(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
