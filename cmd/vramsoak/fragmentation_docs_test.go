package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"vramsoak/fixtures/golden"
	"vramsoak/parser/record"
	"vramsoak/pipeline/scenario"
	"vramsoak/pipeline/simulator"
)

// TestFragmentationDocs compares the table of docs/explanation/fragmentation.md with the simulator:
// it runs the page's scenario with one change each. UPDATE=1 rewrites the table;
// read the difference before you keep it.
func TestFragmentationDocs(t *testing.T) {
	const path = "../../fixtures/scenarios/long-batch-before.yaml"
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	env := func(conf string) string { return "env: {PYTORCH_CUDA_ALLOC_CONF: \"" + conf + "\"}\n" }
	const kept = `        kept: "random(0, 1) < 1 - (1 - batch / items) ** speakers ? 1 : 0"` + "\n"
	var table strings.Builder
	for _, c := range []struct{ change, head, old, by string }{
		{change: "none"},
		{
			change: "`empty_cache` every 5 batches",
			head:   "clear: {every: 5, before: [Transcription], after: [Enrollment]}\n",
		},
		{change: "`max_split_size_mb:256`", head: env("max_split_size_mb:256")},
		{change: "`expandable_segments:True`", head: env("expandable_segments:True")},
		{change: "one stream for all", old: "stream: 1", by: "stream: 0"},
		{change: "`batch: 8` instead of 32", old: "batch: 32", by: "batch: 8"},
		{change: "a new process every 50 files", head: "restart_every: 50\n"},
		{change: "`clips[i].cpu()` instead of `clips[i]`", old: kept},
		{
			change: "the same, and all embeddings stay on the GPU", old: kept,
			by: "      - {name: embeddings, size: batch * 768, each: pass, until: run}\n",
		},
	} {
		if !strings.Contains(string(src), c.old) {
			t.Fatalf("%s has no %q", path, c.old)
		}
		s, err := scenario.Read([]byte(c.head+strings.Replace(string(src), c.old, c.by, 1)), path)
		if err != nil {
			t.Fatal(err)
		}
		o, err := simulator.Run(s, simulator.Options{})
		if err != nil {
			t.Fatal(err)
		}
		first := "-"
		if o.FirstFailure != nil {
			first = fmt.Sprint(o.FirstFailure.File)
		}
		fmt.Fprintf(&table, "| %s | %d of %d | %s | %s | %s | %d |\n", c.change, o.Failed, o.Files,
			first, record.FormatBytes(o.Peak.Allocated), record.FormatBytes(o.Peak.Reserved),
			o.Stats.Retries)
	}
	const docs = "../../docs/explanation/fragmentation.md"
	text, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)(^\| change \| files that fail .*\n\|[-|]+\n)((?:\|.*\n)*)`)
	found := rows.FindSubmatch(text)
	if found == nil {
		t.Fatalf("%s has no table of changes", docs)
	}
	if golden.Updating() {
		golden.Rewrite(t, docs, rows.ReplaceAll(text, []byte("${1}"+table.String())))
		return
	}
	if got := string(found[2]); got != table.String() {
		t.Errorf("%s has\n%s, expected\n%s; run UPDATE=1 go test -run TestFragmentationDocs "+
			"./cmd/vramsoak", docs, got, table.String())
	}
}
