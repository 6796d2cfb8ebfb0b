package journal

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"vramsoak/fixtures/soaklog"
	"vramsoak/parser"
	"vramsoak/parser/record"
)

// FuzzJournal passes arbitrary output in arbitrary pieces to a journal, with lines of the harness
// in between. A reader of the log must find the harness's lines and no others, and the rest must be
// exactly what the pipeline printed. The same must hold for a log that was cut anywhere and then
// resumed.
func FuzzJournal(f *testing.F) {
	f.Add([]byte("[vramsoak]\n[vramsoak] nonsense\n  [vramsoak] quote\n"+
		"[vramsoak] file-end index=1 path=f1 status=ok"),
		uint16(7), uint16(100))
	f.Add([]byte("[vramsoak] quote\n[vramsoak] quote\n[vramsoak] run-end\n"), uint16(1), uint16(90))
	f.Add([]byte("x\r[vramsoak] quote\r\n\n \x00[vramsoak] exit pid=1\n\x1b[1m[vramsoak] quote"),
		uint16(3), uint16(40))
	f.Add([]byte("\x1b[2J\x1b[1;1H[vramsoak] \x1b[1;12Hrun-end\n[vramsoak] quote"), uint16(64),
		uint16(64))
	f.Add([]byte("index, memory.used [MiB]\n[vramsoak] run-end\n1, 2 MiB\n"+
		"{\"log\":\"[vramsoak] quote\\n\"}\n"), uint16(9), uint16(9))
	f.Fuzz(func(t *testing.T, printed []byte, step, cutAt uint16) {
		path := filepath.Join(t.TempDir(), "soak.log")
		j, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		own := func(j *Journal, pid int) { j.Add(record.Exit{PID: pid}) }
		own(j, 1)
		var held []byte // whole lines are passed on
		written := 1
		rest := printed
		for len(rest) > 0 {
			n := min(len(rest), int(step)%97+1)
			held, rest = append(held, rest[:n]...), rest[n:]
			end := bytes.LastIndexByte(held, '\n') + 1
			j.Pass(held[:end])
			held = held[end:]
			written++
			own(j, written)
		}
		j.Pass(held)
		j.EndLine()
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		log, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(soaklog.Printed(log)); strings.TrimSuffix(got,
			"\n") != strings.TrimSuffix(string(printed), "\n") {
			t.Errorf("printed %q, in the log %q", printed, got)
		}
		exits := func(log []byte) (pids []int) {
			for rec, err := range parser.Read(bytes.NewReader(log), path) {
				if err != nil {
					t.Fatal(err)
				}
				exit, ok := rec.(record.Exit)
				switch _, quoted := rec.(record.Quoted); {
				case ok:
					pids = append(pids, exit.PID)
				case rec.Head().Dialect == "vramsoak" && !quoted:
					t.Errorf("%T of the log\n%q", rec, log)
				}
			}
			return pids
		}
		var want []int
		for i := range written {
			want = append(want, i+1)
		}
		if diff := cmp.Diff(want, exits(log)); diff != "" {
			t.Errorf("the harness's lines (-want +got):\n%s\n%q", diff, log)
		}
		// Cut somewhere, and resumed.
		torn := log[:int(cutAt)%(len(log)+1)]
		n, err := soundLength(bytes.NewReader(torn), int64(len(torn)), nil)
		if err != nil {
			t.Fatal(err)
		}
		before := exits(torn[:n])
		again := append(slices.Clone(torn[:n]), "[vramsoak] exit pid=0 code=0\n"...)
		if got := exits(again); len(got) != len(before)+1 ||
			!slices.Equal(got[:len(before)], want[:len(before)]) {
			t.Errorf("before %v, with one more %v of\n%q", before, got, again)
		}
	})
}

// TestOnDisk: the journal says how much of the log is on the disk after each line that must not be
// lost, and not for others. An error from there ends the log.
func TestOnDisk(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "soak.log")
	var sizes []int64
	away := errors.New("the store is away")
	var answer error
	j, err := Open(path, Options{OnDisk: func(size int64) error {
		sizes = append(sizes, size)
		return answer
	}})
	if err != nil {
		t.Fatal(err)
	}
	flush := func() error {
		t.Helper()
		j.Pass([]byte("a line\n"))
		return j.Flush()
	}
	if err := flush(); err != nil || sizes != nil {
		t.Errorf("%v, %v", sizes, err)
	}
	j.Add(record.FileEnd{})
	if err := flush(); err != nil {
		t.Error(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{info.Size()}, sizes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	answer = away
	j.Add(record.RunEnd{})
	if err := flush(); !errors.Is(err, away) {
		t.Errorf("%v", err)
	}
	if err := j.Close(); !errors.Is(err, away) {
		t.Errorf("closing: %v", err)
	}
}

// TestLogComesBack: a task that is late may rename the log of the owner, and renames it back when
// it notices. The owner goes on. A log that stays away ends the run.
func TestLogComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "soak.log")
		j, err := Open(path, Options{Owned: func() error { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = j.Close() }()
		for _, away := range []time.Duration{comesBack / 2, comesBack / 2, 2 * comesBack} {
			if err := os.Rename(path, path+".away"); err != nil {
				t.Fatal(err)
			}
			if err := j.Check(); err != nil {
				t.Errorf("the log is missing now: %v", err)
			}
			time.Sleep(away)
			if err := j.Check(); (err != nil) != (away > comesBack) {
				t.Errorf("the log is missing for %v: %v", away, err)
			}
			if err := os.Rename(path+".away", path); err != nil {
				t.Fatal(err)
			}
			_ = j.Check()
		}
	})
}
