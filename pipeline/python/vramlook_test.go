package python

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// client is the beginning of the programs of TestPythonListens. ask sends a text to a process that
// listens, and returns its answer.
const client = `
import json, os, socket, stat, sys, time
sockets = lambda: sorted(f for f in os.listdir("sockets") if f.endswith(".sock"))
def ask(text, name=None):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(20)
        s.connect("sockets/" + (name or "%d.sock" % os.getpid()))
        s.sendall(text)
        answer = b""
        while True:
            part = s.recv(1 << 16)
            answer += part
            if not part:
                return json.loads(answer.decode()) if answer else None
tensors = b'{"ask": "tensors"}\n'
`

// TestPythonListens: a process that vramsoak soak started answers on a socket of its user.
func TestPythonListens(t *testing.T) {
	const listen = "VRAMSOAK_LISTEN=sockets"
	for _, c := range []struct {
		name, program string
		env           []string
		said          string // on standard error
	}{
		{"the tensors of the process", `
import torch, vramlog
kept = [torch.zeros(100, "cuda") for _ in range(3)]
answer = ask(tensors)
assert answer["schema"] == "vramlog.tensors/1" and answer["pid"] == os.getpid(), answer
assert answer["rank"] == "3" and answer["python"] == sys.version.split()[0]
assert answer["devices"] == [
    {"device": "cuda:0", "count": 3, "bytes": 300, "allocated": 300, "reserved": 300}], answer
assert answer["groups"] == [{
    "shape": [100], "dtype": "uint8", "device": "cuda:0", "where": "list __main__.kept", "count": 3,
    "bytes": 300}], answer
assert answer["more"] == {"groups": 0, "count": 0, "bytes": 0}
assert ask(b'{"ask": "tensors", "device": "cpu"}\n')["groups"] == []
`, []string{listen, "RANK=3"}, ""},
		{"a process without torch", `
import vramlog
answer = ask(tensors)
assert answer["torch"] == "" and answer["groups"] == answer["devices"] == [], answer
`, []string{listen}, ""},
		{"only its user can open the socket", `
os.umask(0)
import vramlog
assert stat.S_IMODE(os.stat("sockets").st_mode) == 0o700
assert stat.S_IMODE(os.stat("sockets/" + sockets()[0]).st_mode) == 0o600
`, []string{listen}, ""},
		{"requests of all kinds", `
import vramlog, vramlook
vramlook._PATIENCE = 0.5
for text in b"", b"no JSON", b"[]", b"{}", b"\xff", b'{"ask": "tensors", "most": "x"}', b"[" * 4000:
    assert set(ask(text + b"\n")) == {"schema", "error"}, text
assert "expected tensors, found 'clear'" in ask(b'{"ask": "clear"}\n')["error"]
assert ask(b"") is None  # nothing comes within the time
try:
    assert ask(b"x" * 5000 + b"\n") is None  # too long
except ConnectionResetError:
    pass
idle = socket.socket(socket.AF_UNIX)
idle.connect("sockets/" + sockets()[0])
assert ask(tensors)["pid"] == os.getpid()  # another client waits until the first one is given up
`, []string{listen}, ""},
		{"a forked process listens from its first checkpoint on", `
import vramlog
parent = os.getpid()
r, w = os.pipe()
child = os.fork()
if child == 0:
    try:
        assert sockets() == ["%d.sock" % parent]
        with vramlog.file("a.wav"): pass
        assert ask(tensors)["pid"] == os.getpid() != parent
        assert ask(tensors, "%d.sock" % parent)["pid"] == parent
        assert len(sockets()) == 2
        os.write(w, b"y")
    finally:
        vramlog._beside("vramlook")._listener.close()
        os._exit(0)
assert os.read(r, 1) == b"y" and os.waitpid(child, 0)[1] == 0
assert ask(tensors)["pid"] == parent and sockets() == ["%d.sock" % parent]
`, []string{listen, "STANDIN_DEVICES=0"}, ""},
		{"a forked process does not keep the socket of a killed one open", `
import signal, subprocess
parent = subprocess.Popen([sys.executable, "-c", """
import os, time, vramlog
child = os.fork()
if child:
    print(child, flush=True)
time.sleep(60)
"""], stdout=subprocess.PIPE)
child = int(parent.stdout.readline())
assert ask(tensors, "%d.sock" % parent.pid)["pid"] == parent.pid
parent.kill()
parent.wait()
while True:
    try:
        assert ask(tensors, "%d.sock" % parent.pid) is None
    except ConnectionResetError:  # the child has just been forked
        pass
    except ConnectionRefusedError:
        break
os.kill(child, signal.SIGKILL)
os.unlink("sockets/%d.sock" % parent.pid)
`, []string{listen}, ""},
		{"the socket that a killed process left is replaced", `
os.mkdir("sockets", 0o700)
old = socket.socket(socket.AF_UNIX)
old.bind("sockets/%d.sock" % os.getpid())
old.close()
import vramlog
assert ask(tensors)["pid"] == os.getpid() and len(sockets()) == 1
`, []string{listen}, ""},
		{"a process of another container with the same PID", `
os.mkdir("sockets", 0o700)
other = socket.socket(socket.AF_UNIX)
other.bind("sockets/%d.sock" % os.getpid())
other.listen(1)
import vramlog
assert sockets() == ["%d-2.sock" % os.getpid(), "%d.sock" % os.getpid()]
assert ask(tensors, sockets()[0])["pid"] == os.getpid()
`, []string{listen}, ""},
		{"a folder that others can open", `
os.mkdir("sockets", 0o755)
import vramlog
assert sockets() == [] and vramlog.listen("sockets") is False
`, []string{listen}, "vramlog: vramsoak doctor --force cannot ask this process: expected "},
		{"a file in place of the folder", `
open("sockets", "w").close()
import vramlog
`, []string{listen}, "vramlog: vramsoak doctor --force cannot ask this process: "},
		{"a link in place of the folder", `
os.mkdir("elsewhere", 0o700)
os.symlink("elsewhere", "sockets")
import vramlog
assert os.listdir("elsewhere") == []
`, []string{listen}, "vramlog: vramsoak doctor --force cannot ask this process: "},
		{"a path that is too long for a socket", `
import vramlog
folder = os.path.abspath("x" * 200)
assert vramlog.listen(folder) and vramlog.listen(folder)
os.symlink(folder, "sockets")
assert ask(tensors)["pid"] == os.getpid()
`, nil, ""},
		{"nothing listens unless it is asked to", `
import threading, vramlog
assert vramlog.listen() is False and threading.active_count() == 1
`, nil, "vramlog: vramsoak doctor --force cannot ask this process: expected a folder, because " +
			"VRAMSOAK_LISTEN is not set\n"},
		{"VRAMLOG_LISTEN=off", `
import vramlog
assert vramlog.listen("sockets") is False and not os.path.exists("sockets")
`, []string{listen, "VRAMLOG_LISTEN=off"}, ""},
		{"VRAMLOG=off", `
import vramlog
assert not os.path.exists("sockets")
`, []string{listen, "VRAMLOG=off"}, ""},
		{"no thread can be started", `
import threading
def fail(self): raise RuntimeError("can't start new thread")
threading.Thread.start = fail
import vramlog
assert sockets() == []
`, []string{listen}, "cannot ask this process: can't start new thread\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachPython(t, func(t *testing.T, p python) {
				cmd := p.command(t, "standin", client+c.program, c.env...)
				out, err := cmd.CombinedOutput()
				text := string(out)
				if i := strings.Index(text, "vramlog: no readings"); i >= 0 {
					text = text[:i]
				}
				if c.said == "" && strings.Contains(text, "vramlog: ") || err != nil ||
					!strings.Contains(text, c.said) {
					t.Errorf("%v\n%s", err, out)
				}
				left, _ := filepath.Glob(filepath.Join(cmd.Dir, "sockets", "*.sock"))
				if len(left) > 0 && !strings.Contains(c.name, "another container") {
					t.Errorf("sockets are left: %q", left)
				}
			})
		})
	}
}

// TestPythonTorch runs each program of testdata/real with each Python that has PyTorch. The
// programs check themselves. Memory of the CPU is enough for all but cuda.py.
func TestPythonTorch(t *testing.T) {
	programs, err := filepath.Glob("testdata/real/*.py")
	if err != nil || len(programs) == 0 {
		t.Fatalf("programs: %q, %v", programs, err)
	}
	ran := false
	for _, p := range pythons() {
		if exec.CommandContext(t.Context(), p.path, "-c", "import torch").Run() != nil {
			continue
		}
		ran = true
		for _, program := range programs {
			t.Run(p.version+"/"+filepath.Base(program), func(t *testing.T) {
				text, err := os.ReadFile(program)
				if err != nil {
					t.Fatal(err)
				}
				cmd := p.command(t, "", "")
				file := filepath.Join(cmd.Dir, filepath.Base(program))
				if err := os.WriteFile(file, text, 0o644); err != nil {
					t.Fatal(err)
				}
				cmd.Args = []string{p.path, "-B", file}
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Errorf("%v\n%s", err, out)
				} else if strings.HasPrefix(string(out), "not run: ") {
					t.Skip(strings.TrimSpace(string(out)))
				}
			})
		}
	}
	if !ran {
		t.Skip("not run: no python3 on the PATH has PyTorch; on Debian: apt-get install python3-torch")
	}
}
