package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A shownRun is a soak that shows itself with --listen. It works on its files until it is let go.
type shownRun struct {
	url  string // of /metrics
	goOn string // a file; the pipeline ends when it exists
	cmd  *exec.Cmd
}

// showRun starts a soak of three files. The pipeline prints two checkpoints in each of them.
func showRun(t *testing.T) *shownRun {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		if err := os.WriteFile(filepath.Join(dir, name+".wav"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := &shownRun{goOn: filepath.Join(dir, "go-on")}
	const pipeline = `for f in $(cat "$1"); do
		echo "[pipeline] file-start path=$f"
		echo "[GPU Memory] Before Work: Allocated: 1.00GB | Reserved: 2.00GB | Total: 24.00GB"
		sleep 0.2
		echo "[GPU Memory] After Work: Allocated: 3.00GB | Reserved: 4.00GB | Total: 24.00GB"
		case $f in *c.wav) while ! [ -e "$2" ]; do sleep 0.05; done;; esac
		echo "[pipeline] file-end path=$f status=ok"
	done`
	r.cmd = exec.CommandContext(t.Context(), "vramsoak", "soak", "--files", dir, "--listen", "0",
		"--runs", filepath.Join(dir, "runs"), "--", "sh", "-c", pipeline, "sh", "{list}", r.goOn)
	out, err := r.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for r.url == "" && lines.Scan() {
		r.url, _ = strings.CutPrefix(lines.Text(), "metrics: ")
		if !strings.HasPrefix(r.url, "http://127.0.0.1:") {
			r.url = ""
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if r.url == "" {
		t.Fatal("the soak does not say where its metrics are")
	}
	return r
}

// get returns the body of the answer to a GET request, or "" if the server does not answer.
func get(address string) string {
	answer, err := http.Get(address)
	if err != nil {
		return ""
	}
	defer func() { _ = answer.Body.Close() }()
	text, _ := io.ReadAll(answer.Body)
	return string(text)
}

// wait calls ok until it returns true. It fails the test after two minutes.
func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain: %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// TestListen: a soak shows its metrics while it runs, and ends as it would without them, also while
// a client does not read its answer.
func TestListen(t *testing.T) {
	t.Parallel()
	r := showRun(t)
	for _, want := range []string{
		`vramsoak_memory_bytes{device="0",ledger="allocated",rank="0",source="checkpoint"} ` +
			"3.221225472e+09",
		`vramsoak_file_end_memory_bytes{device="0",ledger="allocated",rank="0"} 3.221225472e+09`,
		"vramsoak_files_done 2", "vramsoak_batch_files 3", `vramsoak_files_total{status="ok"} 2`,
		`vramsoak_state{state="working"} 1`, "vramsoak_files_failed 0",
	} {
		wait(t, want, func() bool { return strings.Contains(get(r.url), want+"\n") })
	}
	host := strings.TrimSuffix(strings.TrimPrefix(r.url, "http://"), "/metrics")
	for _, want := range []string{
		`<h1 id="verdict-title">`, "6 checkpoints",
		"the run goes on: this is the report on its first 2 files",
	} {
		if page := get("http://" + host + "/"); !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%.2000s", want, page)
		}
	}
	if page := get("http://" + host + "/"); strings.Contains(page, "cut short") {
		t.Errorf("the page says that the run was cut short")
	}
	slow, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = slow.Close() }()
	if _, err := fmt.Fprint(slow, "GET /metrics HTTP/1.1\r\nHost: x\r\n"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Wait(); err != nil {
		t.Errorf("the soak ended with %v", err)
	}
	if got := get(r.url); got != "" {
		t.Errorf("after the run: %s", got)
	}
}
