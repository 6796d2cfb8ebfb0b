package main

import (
	"bufio"
	"context"
	"errors"
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

// A listeningSoak is a soak with --listen. It works on its files until it is let go.
type listeningSoak struct {
	url  string // of /metrics
	goOn string // a file; the pipeline ends when it exists
	cmd  *exec.Cmd
	said string // what it printed before the URL
}

// listen starts a soak of three files with --listen. The pipeline prints two checkpoints in each of
// them.
func listen(t *testing.T, address string, flags ...string) *listeningSoak {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		if err := os.WriteFile(filepath.Join(dir, name+".wav"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := &listeningSoak{goOn: filepath.Join(dir, "go-on")}
	const pipeline = `for f in $(cat "$1"); do
		echo "[pipeline] file-start path=$f"
		echo "[GPU Memory] Before Work: Allocated: 1.00GB | Reserved: 2.00GB | Total: 24.00GB"
		sleep 0.2
		echo "[GPU Memory] After Work: Allocated: 3.00GB | Reserved: 4.00GB | Total: 24.00GB"
		case $f in *c.wav) while ! [ -e "$2" ]; do sleep 0.05; done;; esac
		echo "[pipeline] file-end path=$f status=ok"
	done`
	args := append([]string{
		"soak", "--files", dir, "--listen", address,
		"--runs", filepath.Join(dir, "runs"),
	}, flags...)
	args = append(args, "--", "sh", "-c", pipeline, "sh", "{list}", r.goOn)
	r.cmd = exec.CommandContext(t.Context(), "vramsoak", args...)
	out, err := r.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for r.url == "" && lines.Scan() {
		r.said += lines.Text() + "\n"
		if rest, ok := strings.CutPrefix(lines.Text(), "metrics: http://"); ok {
			r.url = "http://" + rest
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
	r := listen(t, "0")
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
	if !strings.HasPrefix(host, "127.0.0.1:") {
		t.Errorf("the soak is at %s", host)
	}
	for _, want := range []string{
		`<h1 id="verdict-title">`, "6 checkpoints",
		"2 of 3 files at ",
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

// TestListenLogRemoved: the page says that the log of a run that has begun is missing, not that the
// pipeline has printed nothing.
func TestListenLogRemoved(t *testing.T) {
	t.Parallel()
	r := listen(t, "0")
	wait(t, "two files", func() bool {
		return strings.Contains(get(r.url), "vramsoak_files_done 2\n")
	})
	logs, err := filepath.Glob(filepath.Join(filepath.Dir(r.goOn), "runs", "*", "soak.log"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("logs %q, %v", logs, err)
	}
	if err := os.Rename(logs[0], logs[0]+".moved"); err != nil {
		t.Fatal(err)
	}
	page := get(strings.TrimSuffix(r.url, "metrics"))
	if !strings.Contains(page, "soak.log") || strings.Contains(page, "has not printed") {
		t.Errorf("the page says %.2000s", page)
	}
	if err := os.Rename(logs[0]+".moved", logs[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestListenBeforeTheLog: the page of a run without a log says that there is nothing to show yet.
func TestListenBeforeTheLog(t *testing.T) {
	t.Parallel()
	var v webView
	v.run.Store(&shownRun{logs: []string{filepath.Join(t.TempDir(), "soak.log")}})
	_, err := v.page()
	if err == nil || err.Error() != "the pipeline has not printed a checkpoint yet" {
		t.Errorf("error %v", err)
	}
}

// TestListenBaseline: the page of a soak with a baseline compares the run so far with it. In the
// baseline each file keeps 1 GiB, in the soak 3 GiB: the page says so.
func TestListenBaseline(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "base.log")
	var text strings.Builder
	for i := range 3 {
		fmt.Fprintf(&text, "[pipeline] file-start path=%c.wav\n"+
			"[GPU Memory] Before Work: Allocated: 1.00GB | Reserved: 2.00GB | Total: 24.00GB\n"+
			"[GPU Memory] After Work: Allocated: 1.00GB | Reserved: 2.00GB | Total: 24.00GB\n"+
			"[pipeline] file-end path=%c.wav status=ok\n", 'a'+i, 'a'+i)
	}
	if err := os.WriteFile(log, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	r := listen(t, "0", "--baseline", log)
	wait(t, "two files", func() bool {
		return strings.Contains(get(r.url), "vramsoak_files_done 2\n")
	})
	page := get(strings.TrimSuffix(r.url, "metrics"))
	const want = "rose by 2.00 GiB (&#43;200.0 %) from 1.00 GiB, over the same 2 files"
	if !strings.Contains(page, want) {
		t.Errorf("the page lacks %q", want)
	}
	if err := os.WriteFile(r.goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Wait(); err == nil {
		t.Error("the soak passed, although it needs more memory than its baseline")
	}
}

// TestListenBusy: a port that another soak uses is told before the batch begins, with what to do.
// There is no run folder.
func TestListenBusy(t *testing.T) {
	t.Parallel()
	r := listen(t, "0")
	host := strings.TrimSuffix(strings.TrimPrefix(r.url, "http://"), "/metrics")
	dir := t.TempDir()
	out, err := exec.Command("vramsoak", "soak", "--files", r.goOn[:len(r.goOn)-len("go-on")],
		"--runs", filepath.Join(dir, "runs"), "--listen", host, "--", "true", "{}").CombinedOutput()
	want := "vramsoak: --listen " + host + ": another program uses the address " + host +
		"; end it, or choose another port, such as 0 for any free one\n"
	if string(out) != want {
		t.Errorf("found %q, want %q", out, want)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 2 {
		t.Errorf("error %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if err := os.WriteFile(r.goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestListenEverywhere: a soak that listens on all addresses says one that can be opened, and that
// other machines can open it.
func TestListenEverywhere(t *testing.T) {
	t.Parallel()
	r := listen(t, "0.0.0.0:0")
	if strings.Contains(r.url, "://0.0.0.0") || strings.Contains(r.url, "://[::]") {
		t.Errorf("the soak is at %s", r.url)
	}
	if got := get(r.url); !strings.Contains(got, "vramsoak_files_done") {
		t.Errorf("%s has %q", r.url, got)
	}
	if !strings.Contains(r.said, "other machines can open these pages, without a password") {
		t.Errorf("no warning in %q", r.said)
	}
	if err := os.WriteFile(r.goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Wait(); err != nil {
		t.Error(err)
	}
}
