package parser_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vramsoak/parser"
	"vramsoak/parser/record"
)

// A follower calls Follow for a log in a goroutine of its own.
type follower struct {
	t       *testing.T
	path    string
	records chan string
	notices chan string
	cancel  context.CancelFunc
	err     error
}

func follow(t *testing.T, path string) *follower {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	f := &follower{
		t:       t,
		path:    path,
		records: make(chan string, 100),
		notices: make(chan string, 10),
		cancel:  cancel,
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(f.records)
		for rec, err := range (*parser.Set)(nil).Follow(ctx, path, "run.log",
			func(s string) { f.notices <- s }) {
			if err != nil {
				f.err = err
				return
			}
			switch r := rec.(type) {
			case record.Checkpoint:
				f.records <- fmt.Sprintf("%d %s", r.Pos.Line, r.Name)
			case record.SyntaxError:
				f.records <- fmt.Sprintf("%d unreadable", r.Pos.Line)
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return f
}

// want fails the test unless the next records are the given ones. It waits at most a minute for
// each record.
func (f *follower) want(records ...string) {
	f.t.Helper()
	for _, want := range records {
		select {
		case got, ok := <-f.records:
			if !ok || got != want {
				f.t.Fatalf("got %q, want %q (%v)", got, want, f.err)
			}
		case <-time.After(time.Minute):
			f.t.Fatalf("waited in vain for the record %q", want)
		}
	}
}

// none fails the test if a record arrives within 0.6 s. A record of a complete line takes about
// 0.3 s.
func (f *follower) none() {
	f.t.Helper()
	select {
	case got, ok := <-f.records:
		f.t.Fatalf("got %q, %t, want nothing", got, ok)
	case <-time.After(600 * time.Millisecond):
	}
}

func (f *follower) notice(want string) {
	f.t.Helper()
	select {
	case got := <-f.notices:
		if got != want {
			f.t.Fatalf("got the notice %q, want %q", got, want)
		}
	case <-time.After(time.Minute):
		f.t.Fatalf("waited in vain for the notice %q", want)
	}
}

func (f *follower) append(text string) {
	f.t.Helper()
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if _, err := file.WriteString(text); err != nil {
		f.t.Fatal(err)
	}
}

const reading = ": Allocated: 1.00GB\n"

// TestFollowTable: a row of a table that is still being written is no reading, also if following
// ends in this row.
func TestFollowTable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "run.log")
	if err := os.WriteFile(path, []byte("timestamp, index, memory.used [MiB]\n"+
		"2026/11/20 02:00:01.123, 0, 12345\n2026/11/20 02:00:02.123, 0, 12"), 0o644); err != nil {
		t.Fatal(err)
	}
	f := follow(t, path)
	f.want("2 nvidia-smi")
	f.none()
	f.append("346\n2026/11/20 02:00:03.123, 0, 12")
	f.want("3 nvidia-smi")
	f.none()
	f.cancel()
	if got, ok := <-f.records; ok {
		t.Errorf("got %q at the end, want nothing", got)
	}
}

// TestFollowGrowth: each record is yielded soon after its line is written. A line without a
// newline yields no record before its newline is written.
func TestFollowGrowth(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "run.log")
	if err := os.WriteFile(
		path,
		[]byte("first\n[GPU Memory] A"+reading+"[GPU Memory] B: Allocated: 1."),
		0o644,
	); err != nil {
		t.Fatal(err)
	}
	f := follow(t, path)
	f.want("2 A")
	f.none()
	f.append("00GB")
	f.none()
	f.append("\n")
	f.want("3 B")
	f.append("other\r\n[GPU Memory] C: Allocated: 1.00GB\r")
	f.none() // its '\n' may come yet
	f.append("\n[GPU Memory] D: Allocated: 1.00GB\rprogress")
	f.want("5 C", "6 D")
	for i := range 5 {
		f.append(fmt.Sprintf("\n[GPU Memory] E%d%s", i, strings.TrimSuffix(reading, "\n")))
		if i > 0 {
			f.want(fmt.Sprintf("%d E%d", 6+i, i-1))
		}
	}
	// One line is longer than a window. The many short lines after it are together longer than a
	// window.
	f.append(
		"\n" + strings.Repeat(
			"#",
			1<<20,
		) + "\n" + strings.Repeat(
			"noise\n",
			100_000,
		) + "[GPU Memory] F" + reading,
	)
	f.want("11 E4", "100013 F")
	start := time.Now()
	f.append("[GPU Memory] G" + reading)
	f.want("100014 G")
	t.Logf("a record took %v", time.Since(start))
	f.append("[GPU Memory] H: Allocated: 1.00GB")
	f.none()
	f.cancel()
	f.want("100015 H") // the rest is read when following ends
	if got, ok := <-f.records; ok || f.err != nil {
		t.Errorf("after the end: got %q, %v, want nothing", got, f.err)
	}
}

// TestFollowBusy: Follow yields the records of a file that grows all the time, without waiting
// for a pause.
func TestFollowBusy(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "run.log")
	(&follower{t: t, path: path}).append("")
	f := follow(t, path)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				f.append(fmt.Sprintf("[GPU Memory] %d%s", i, reading))
			}
		}
	}()
	for i := range 20 {
		f.want(fmt.Sprintf("%d %d", i+1, i))
	}
	close(stop)
	<-stopped
}

// TestFollowRotation: when a file is replaced, Follow reads the old file to its end, then the new
// file from its beginning.
func TestFollowRotation(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "run.log")
	f := &follower{t: t, path: path}
	f.append("[GPU Memory] A" + reading)
	f = follow(t, path)
	f.want("1 A")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	old := &follower{t: t, path: path + ".1"}
	old.append("[GPU Memory] B" + reading) // its writer has not noticed yet
	f.want("2 B")
	f.none()
	old.append("[GPU Memory] C: Allocated: 1.00GB") // without an end
	f.append("[GPU Memory] D" + reading)
	f.want("3 C", "1 D")
	f.notice("run.log was replaced; reading it from its beginning")
	// Another file is renamed onto the path.
	next := &follower{t: t, path: path + ".next"}
	next.append("\n[GPU Memory] E" + reading)
	if err := os.Rename(next.path, path); err != nil {
		t.Fatal(err)
	}
	f.want("2 E")
	f.notice("run.log was replaced; reading it from its beginning")
	// The file is removed, and made again later.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	f.none()
	f.append("[GPU Memory] F" + reading)
	f.want("1 F")
}

// TestFollowTruncation: when a file is truncated, Follow reads it from its beginning again.
func TestFollowTruncation(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "run.log")
	f := &follower{t: t, path: path}
	f.append("[GPU Memory] A" + reading + "[GPU Memory] B" + reading + "[GPU Memory] torn: Allo")
	f = follow(t, path)
	f.want("1 A", "2 B")
	f.none()
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	f.want("3 unreadable")
	f.notice("run.log was truncated; reading it from its beginning")
	f.append("[GPU Memory] C" + reading)
	f.want("1 C")
}

// TestFollowAsRead: Follow yields as many records of a log as Read does, also for blocks of lines
// and for rows of tables.
func TestFollowAsRead(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob("../fixtures/logs/*/*.log")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no logs: %v", err)
	}
	for _, path := range cases {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := len(read(t, string(text)))
		ctx, cancel := context.WithCancel(t.Context())
		got := 0
		timer := time.AfterFunc(150*time.Millisecond, cancel) // enough time to read the file
		for _, err := range (*parser.Set)(nil).Follow(ctx, path, "run.log", nil) {
			if err != nil {
				t.Fatal(err)
			}
			got++
		}
		timer.Stop()
		cancel()
		if got != want {
			t.Errorf("%s: %d records, want %d", path, got, want)
		}
	}
}

func TestFollowErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	packed := filepath.Join(dir, "run.log.gz")
	if err := os.WriteFile(packed, []byte("\x1f\x8b\x08\x00"), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none.log"): "no such file",
		dir:                            "is a folder",
		packed:                         "is compressed and cannot be followed",
	} {
		var got []string
		for _, err := range (*parser.Set)(nil).Follow(t.Context(), path, path, nil) {
			got = append(got, fmt.Sprint(err))
		}
		if len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

// TestFollowStops: if the caller stops early, no goroutine stays behind.
func TestFollowStops(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "run.log")
	(&follower{t: t, path: path}).append(strings.Repeat("[GPU Memory] A"+reading, 10))
	n := 0
	for _, err := range (*parser.Set)(nil).Follow(t.Context(), path, "run.log", nil) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 3 {
			break
		}
	}
	if n != 3 {
		t.Errorf("%d records, want 3", n)
	}
}
