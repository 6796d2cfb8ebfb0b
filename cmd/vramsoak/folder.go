package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"vramsoak/harness"
	"vramsoak/parser/record"
	"vramsoak/parser/source"
	"vramsoak/parser/timeline"
	"vramsoak/reports/sink"
)

// logsIn are the logs of run folders, and the paths that are something else as they are.
func logsIn(paths []string) ([]string, error) {
	var logs []string
	var errs []error
	for _, path := range paths {
		switch found := runLogs(path); {
		case isFile(found[0]):
			logs = append(logs, found...)
		case isFolder(path):
			errs = append(errs, fmt.Errorf("%s: expected a log, or a run folder, which has a %s; found %s", path, harness.LogName, folderWithout(path)))
		default:
			logs = append(logs, path)
		}
	}
	return logs, errors.Join(errs...)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// folderWithout says what a folder without the log of a run is.
func folderWithout(dir string) string {
	entries, err := os.ReadDir(dir)
	newest := newestRun(dir, entries)
	switch {
	case err != nil:
		return "a folder that cannot be read: " + err.Error()
	case isFile(filepath.Join(dir, runJSONName)):
		return "the folder of a run whose log is gone"
	case newest != "":
		return "the folder of runs: the newest is " + newest
	case len(entries) == 0:
		return "an empty folder"
	}
	return "a folder without one"
}

// newestRun is the run folder in a folder that was written to last, "" where there is none.
func newestRun(dir string, entries []os.DirEntry) (newest string) {
	var last int64
	for _, e := range entries {
		sub := filepath.Join(dir, e.Name())
		for _, of := range append(runLogs(sub), filepath.Join(sub, runJSONName)) {
			if info, err := os.Stat(of); err == nil && info.Mode().IsRegular() && (newest == "" || info.ModTime().UnixNano() >= last) {
				newest, last = sub, info.ModTime().UnixNano()
			}
		}
	}
	return newest
}

// goOn says how a run is taken up again.
func goOn(dir string, info runJSON) string {
	say := "go on with: vramsoak soak --resume " + sink.Shell(dir)
	if info.Digest != "" {
		say += " -- COMMAND (the same one: secrets are masked in the run folder)"
	}
	return say
}

// cutShort returns how to go on with the run of these logs; "" where it has come to its end, or cannot be resumed.
func cutShort(logs []string, tl *timeline.Timeline) string {
	dir := runFolderOf(logs)
	if dir == "" || !isFile(filepath.Join(dir, batchName)) || !slices.ContainsFunc(tl.Runs, func(r timeline.Run) bool {
		const first = 1 // what a pipeline prints comes after it
		return r.Start.Pos.Line == first && (r.End == nil || r.End.Reason != harness.ReasonDone)
	}) {
		return ""
	}
	run, err := readRunFolder(dir)
	if err != nil || run.info.Config.Feed == string(harness.FeedNone) {
		return ""
	}
	return goOn(dir, run.info)
}

// What is shown of a pipeline's output.
const (
	wordLines = 10
	wordBytes = 16 << 10 // of a log
	wordMost  = 400      // bytes of a line
)

// lastWords are the last lines that the pipeline printed into the logs, indented under a heading: where it has no checkpoints they
// say why.
func lastWords(logs []string) string {
	var words []string
	for _, log := range logs {
		words = append(words, wordsOf(log)...)
	}
	if len(words) == 0 {
		return "the pipeline printed nothing"
	}
	return "the pipeline's last lines:\n  " + strings.Join(words[max(0, len(words)-wordLines):], "\n  ")
}

func wordsOf(log string) (words []string) {
	f, err := os.Open(log)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // only read
	if info, err := f.Stat(); err == nil {
		_, _ = f.Seek(max(0, info.Size()-wordBytes), io.SeekStart)
	}
	text, _ := io.ReadAll(io.LimitReader(f, wordBytes)) // what can be read says more than nothing
	said := vramlogSays(log)
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, " \t\r\n")
		if i := bytes.LastIndexByte(line, '\r'); i >= 0 { // the last state of a progress bar
			line = line[i+1:]
		}
		word := strings.ToValidUTF8(source.Plain(string(line[:min(len(line), wordMost)])), "\uFFFD")
		if word != "" && !strings.HasPrefix(word, record.HarnessPrefix) && !slices.Contains(words, word) { // each file may fail alike
			words = append(words, word)
		}
	}
	words = words[max(0, len(words)-wordLines+1):]
	if said != "" && !slices.Contains(words, said) {
		words = slices.Insert(words, 0, said)
	}
	return words
}

// vramlogSays is the line in which vramlog.py says why it prints no readings: once, when the process begins.
func vramlogSays(log string) string {
	head, _ := headOf(log) // what can be read says more than nothing
	for line := range bytes.Lines(head) {
		if bytes.HasPrefix(line, []byte("vramlog: ")) {
			return strings.ToValidUTF8(string(bytes.TrimSpace(line[:min(len(line), wordMost)])), "\uFFFD")
		}
	}
	return ""
}
