package journal

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"vramsoak/harness/queue"
	"vramsoak/parser/record"
)

// madeLog returns a log of the files f1, f2 and so on. The text words has one event per line: "run
// 2", "start 1", "ok 1", "failed 1", "interrupted 1". Each event becomes a line of the log, one
// second after the event before it.
func madeLog(words string) string {
	clock := time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)
	var b []byte
	add := func(l Line) { b = append(l.AppendLine(b), '\n') }
	for word := range strings.Lines(words) {
		clock = clock.Add(time.Second)
		head := record.Header{Time: clock}
		var kind string
		n := 0
		_, _ = fmt.Sscan(word, &kind, &n) // a word without a number
		path := fmt.Sprintf("f%d", n)
		switch kind {
		case "":
		case "run":
			add(record.RunStart{
				Header: head, Files: n, Feed: "stdin", Version: "test",
				Command: "x",
			})
		case "start":
			add(record.FileStart{Header: head, Index: n, Path: path, AudioSeconds: 10})
		case "interrupted":
			add(record.FileEnd{
				Header: head, Index: n, Path: path, Status: record.StatusFailed,
				Error: record.Interrupted,
			})
		case "exit":
			add(record.Exit{Header: head, PID: 1, Code: n})
		case "crash":
			add(record.Exit{Header: head, PID: 1, Code: -1, Signal: "SIGSEGV", Restarts: n})
		case "sample":
			add(record.Sample{Header: head, PID: n, RSS: 1})
		case "resume":
			clock = clock.Add(time.Hour)
			add(record.Resume{Header: record.Header{Time: clock}, Index: n, Reason: "killed"})
		case "stopped", "done":
			add(record.RunEnd{Header: head, Files: n, Seconds: 100, Reason: kind})
		default:
			add(record.FileEnd{Header: head, Index: n, Path: path, Status: record.Status(kind)})
		}
	}
	return string(b)
}

// TestReplay: reading a log back gives the state in which its run ended.
func TestReplay(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, log string
		left      string // files that have not begun
		lost      string
		ok        int
		want      State
	}{
		{"begun", "run 3", "1 2 3", "", 0, State{First: 1}},
		{
			"a file is open", "run 3\nstart 1\nok 1\nstart 2\n", "2 3", "2", 1,
			State{First: 2, Spent: 3 * time.Second},
		},
		{
			"between files", "run 3\nsample 1\nstart 1\nok 1\n", "2 3", "", 1,
			State{First: 2, Spent: 3 * time.Second, Processes: 1},
		},
		{
			"all done, and not the end", "run 2\nstart 1\nok 1\nstart 2\nfailed 2\nexit 0\n", "",
			"",
			1,
			State{Spent: 5 * time.Second, Processes: 1},
		},
		{
			"out of order", "run 3\nstart 3\nok 3\nstart 1\nok 1\nstart 2\n", "2", "2", 2,
			State{First: 2, Spent: 5 * time.Second},
		},
		{
			"a file that was done is done again", "run 2\nstart 1\nok 1\nstart 1\n", "1 2", "1", 1,
			State{First: 1, Spent: 3 * time.Second},
		},
		{
			"interrupted", "run 3\nstart 1\nok 1\nstart 2\ninterrupted 2\nexit 1\n", "2 3", "2", 1,
			State{First: 2, Spent: 5 * time.Second, Processes: 1},
		},
		{
			"crashes",
			"run 4\nstart 1\ncrashed 1\ncrash 1\nstart 2\ncrashed 2\ncrash 2\nstart 3\nok 3\nexit 0\n", "4",
			"", 1,
			State{First: 4, Spent: 9 * time.Second, Processes: 3, Restarts: 2},
		},
		{
			"the time between parts does not count",
			"run 3\nstart 1\nresume 1\nstart 1\nok 1\nstart 2\n", "2 3", "2", 1,
			State{First: 2, Spent: 1*time.Second + 3*time.Second},
		},
		{
			"a part that ended",
			"run 3\nstart 1\nok 1\nexit 1\nstopped 1\nresume 2\nstart 2\nok 2\n", "3", "", 2,
			State{First: 3, Spent: 102 * time.Second, Processes: 1},
		},
		{
			"a number that no file has", "run 2\nstart 7\nok 7\nstart 1\n", "1 2", "1", 0,
			State{First: 1, Spent: 3 * time.Second},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			log := madeLog(test.log)
			n := 0
			_, _ = fmt.Sscanf(test.log, "run %d", &n)
			var files []queue.Input
			for i := range n {
				files = append(files, queue.Input{Path: fmt.Sprintf("f%d", i+1)})
			}
			b := queue.NewBatch(files)
			replay := Replay{Batch: b, Extend: func(int) {}, Ahead: 100}
			s, err := replay.read(strings.NewReader(log), "soak.log")
			if err != nil {
				t.Fatal(err)
			}
			if s.Start == nil {
				t.Fatal("no run-start")
			}
			s.Start, s.End = nil, nil
			if s != test.want {
				t.Errorf("found %+v, expected %+v", s, test.want)
			}
			places := func(indices []int) string {
				var all []string
				for _, i := range indices {
					all = append(all, fmt.Sprint(i+1))
				}
				return strings.Join(all, " ")
			}
			var lost []int
			for i := range n {
				if b.Lost(i) {
					lost = append(lost, i)
				}
			}
			if left := places(b.Waiting(0)); left != test.left || places(lost) != test.lost ||
				b.Counts()[record.StatusOK] != test.ok {
				t.Errorf("left %s, lost %s, %d ok, expected %s, %s, %d", left, places(lost),
					b.Counts()[record.StatusOK], test.left, test.lost, test.ok)
			}
		})
	}
}
