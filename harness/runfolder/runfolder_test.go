package runfolder

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/harness"
	"vramsoak/harness/queue"
)

// TestLogs: Logs returns the logs of a run folder's workers, ordered by the numbers of their GPUs.
// It leaves out logs without any line.
func TestLogs(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run [1]*")
	write := func(name, text string) string {
		path := filepath.Join(dir, name, harness.LogName)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ten, two := write("gpu-10", "x\n"), write("gpu-2", "x\n")
	write("gpu-3", "")
	write("gpu-4", "[vramsoak] run-st")
	write("gpu-x", "x\n")
	if diff := cmp.Diff([]string{two, ten}, Logs(dir)); diff != "" {
		t.Errorf("logs (-want +got):\n%s", diff)
	}
	if folder := Of([]string{two, ten}); folder != dir {
		t.Errorf("folder %q", folder)
	}
	one := write(".", "x\n")
	if diff := cmp.Diff([]string{one}, Logs(dir)); diff != "" {
		t.Errorf("logs (-want +got):\n%s", diff)
	}
	if folder := Of([]string{one, two}); folder != "" {
		t.Errorf("folder %q", folder)
	}
	if folder := Of([]string{one}); folder != dir {
		t.Errorf("folder %q", folder)
	}
}

// TestBatchKeepsNames: batch.jsonl keeps the names of the files byte by byte, whatever bytes they
// have, so that a resumed run gets the same names.
func TestBatchKeepsNames(t *testing.T) {
	var want []queue.Input
	for _, path := range []string{
		"a.wav", "-@x", "=x\nb\r", "\x1b[31m\u0085\u202e", "\xff\x9b.wav",
		"\ufffd", `"\`,
	} {
		want = append(want, queue.Input{Path: path, AudioSeconds: 1.5})
	}
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, BatchName))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(EncodeBatch(json.NewEncoder(f).Encode, want), f.Close()); err != nil {
		t.Fatal(err)
	}
	got, err := ReadBatch(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
