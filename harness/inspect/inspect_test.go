package inspect

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// listen makes a socket at a path, and answers each request with a text.
func listen(t *testing.T, path, answer string) {
	t.Helper()
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	t.Chdir(dir.Name()) // the path may be longer than a socket's
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Base(path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if answer == "never" {
				continue
			}
			buffer := make([]byte, 1<<10)
			n, _ := conn.Read(buffer)
			_, _ = io.WriteString(conn, strings.ReplaceAll(answer, "REQUEST",
				strings.ReplaceAll(strings.TrimSpace(string(buffer[:n])), `"`, `'`)))
			_ = conn.Close()
		}
	}()
}

// leave makes a socket at a path as a killed process leaves it.
func leave(t *testing.T, path string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

const head = `{"schema": "vramlog.tensors/1", "pid": 7`

func TestAsk(t *testing.T) {
	for _, c := range []struct{ name, answer, want string }{
		{"an error of the process", head + `, "error": "no"}` + "\n", "the process cannot answer: no"},
		{"no answer", "", "expected an answer, found none: the process ended"},
		{"a torn answer", head, "expected a line of at most 1048576 bytes, found 40 bytes without an end"},
		{"too long an answer", strings.Repeat("x", answerMax+1), "found 1048576 bytes without an end"},
		{"no JSON", "pong\n", "expected an answer of vramlook.py: invalid character"},
		{"another program", "{}\n", `schema vramlog.tensors/1, found ""`},
		{
			"a later version", `{"schema": "vramlog.tensors/2"}` + "\n",
			`found "vramlog.tensors/2"; copy vramlog.py`,
		},
		{
			"a negative number", head + `, "groups": [{"bytes": -1}]}` + "\n",
			"expected numbers from 0 on in the answer, found a negative one",
		},
		{
			"a number that is too large", head + `, "groups": [{"bytes": 1e30}]}` + "\n",
			"expected an answer of vramlook.py: json: cannot unmarshal number",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "7.sock")
			listen(t, path, c.answer)
			answer, err := Process{Path: path}.Ask(t.Context(), Request{Most: 3})
			if err == nil || !strings.Contains(err.Error(), c.want) ||
				!strings.HasPrefix(err.Error(), path+": ") {
				t.Errorf("found %v, %v; want %q", answer, err, c.want)
			}
		})
	}
}

// TestAskReads: the request and the answer arrive, whichever path the socket has.
func TestAskReads(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 40))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "7.sock")
	listen(t, path, head+`, "groups": [{"where": "REQUEST", "shape": [2, 3]}]}`+"\n")
	answer, err := Process{Path: path}.Ask(t.Context(), Request{Most: 3, Device: "cuda:1"})
	want := &Answer{
		Schema: answerSchema, PID: 7, HostPID: os.Getpid(), Groups: []Group{{
			Where: "{'ask':'tensors','most':3,'device':'cuda:1'}",
			Shape: []int64{2, 3},
		}},
	}
	if diff := cmp.Diff(want, answer); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// TestAskEnds: a process that does not answer, or that has ended, does not hold doctor up.
func TestAskEnds(t *testing.T) {
	dir := t.TempDir()
	busy, gone := filepath.Join(dir, "7.sock"), filepath.Join(dir, "8.sock")
	listen(t, busy, "never")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := Process{Path: busy}.Ask(ctx, Request{})
	if err == nil || !strings.Contains(err.Error(), "expected an answer within 30s, found none") {
		t.Errorf("busy: %v", err)
	}
	leave(t, gone)
	if _, err := (Process{Path: gone}).Ask(t.Context(), Request{}); !errors.Is(err, ErrEnded) {
		t.Errorf("gone: %v", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Process{Path: busy}).Ask(canceled, Request{}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// TestFind: sockets are found in the run folder and in those of its workers, and nothing else is.
func TestFind(t *testing.T) {
	run := t.TempDir()
	t.Chdir(run)
	for _, folder := range []string{Folder, "gpu-1/" + Folder, "gpu-2"} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{Folder + "/5.txt", Folder + "/6.sock", "gpu-3"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"12.sock", "7.sock", "7-2.sock", "x.sock", "0.sock"} {
		leave(t, Folder+"/"+name)
	}
	leave(t, "gpu-1/"+Folder+"/9.sock")
	found, err := Find(run)
	names := func(found []Process) (names []string) {
		for _, p := range found {
			names = append(names, strings.TrimPrefix(p.Path, run+"/"))
		}
		return names
	}
	want := []string{
		Folder + "/7-2.sock", Folder + "/7.sock", "gpu-1/" + Folder + "/9.sock", Folder + "/12.sock",
	}
	if diff := cmp.Diff(want, names(found)); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if found, err := Find(filepath.Join(run, Folder)); len(found) != 3 || err != nil {
		t.Errorf("in the folder itself: %q, %v", names(found), err)
	}
	if _, err := Find(filepath.Join(run, "missing")); !os.IsNotExist(err) {
		t.Errorf("missing: %v", err)
	}

	RemoveSockets(run)
	RemoveSockets(filepath.Join(run, "gpu-2"))
	if left, err := Find(run); len(left) != 1 || err != nil {
		t.Errorf("after the run: %q, %v", names(left), err)
	}
	if _, err := os.Stat(filepath.Join(run, Folder, "5.txt")); err != nil {
		t.Error(err)
	}
	RemoveSockets(filepath.Join(run, "gpu-1"))
	if _, err := os.Stat(filepath.Join(run, "gpu-1", Folder)); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(head + `, "groups": [{"shape": [1], "bytes": 4, "count": 1, "where": "a"}]}` + "\n")
	f.Add(head + `, "devices": [{"device": "cuda:0", "bytes": -5}]}` + "\n")
	f.Add("{}\n")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := read(strings.NewReader(text))
		if err == nil && (a == nil || a.Schema != answerSchema || a.check() != nil) {
			t.Errorf("read %q as %v", text, a)
		}
	})
}
