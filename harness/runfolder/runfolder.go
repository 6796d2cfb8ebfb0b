// Package runfolder makes, finds and reads run folders: the folder to which vramsoak soak writes
// the logs, run.json, batch.jsonl and verdict.json of a run. It also checks whether the run in a
// folder can be resumed.
//
//	runs/2026-11-20T02-00-00Z/
//	  soak.log          the record of the run; with several GPUs gpu-0/soak.log, gpu-1/soak.log ...
//	  run.json          what ran, where, with what: see [Info]
//	  batch.jsonl       the files of one round: see [ReadBatch]
//	  verdict.json, junit.xml, summary.md, report.html
//	  over-files.png, memory.png, and both as .svg
package runfolder

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"vramsoak/harness"
)

// These are the files of a run folder, besides its log.
const (
	InfoName    = "run.json"
	BatchName   = "batch.jsonl"
	VerdictName = "verdict.json"
	ReportName  = "report.html"
)

// Make makes a run folder in parent. If name is "", the UTC time is its name:
// runs/2026-11-20T02-00-00Z. If a run that began in the same second has that name, Make appends
// "-2", "-3" and so on. If a folder with the given name exists, the error wraps [fs.ErrExist], and
// dir is that folder. The function undo removes the run folder with its content. It also removes
// parent, if Make had to make it and it holds nothing else.
func Make(parent, name string, now time.Time) (dir string, undo func(), err error) {
	_, found := os.Stat(parent)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", nil, err
	}
	base := filepath.Join(parent, cmp.Or(name, now.UTC().Format("2006-01-02T15-04-05Z")))
	dir = base
	for n := 2; ; n++ {
		err := os.Mkdir(dir, 0o755)
		switch {
		case err == nil:
			return dir, func() {
				_ = os.RemoveAll(dir) // the caller already reports an error
				if errors.Is(found, fs.ErrNotExist) {
					_ = os.Remove(parent) // fails if another run is in it by now
				}
			}, nil
		case name != "" || !errors.Is(err, fs.ErrExist):
			return dir, nil, err
		}
		dir = fmt.Sprintf("%s-%d", base, n)
	}
}

// Logs returns the paths of the logs of a run folder. If the folder has logs of workers,
// gpu-N/soak.log, and no soak.log, these are the logs. Otherwise the only log is soak.log, whether
// it exists or not.
func Logs(dir string) []string {
	one := filepath.Join(dir, harness.LogName)
	if logs := workerLogs(dir); len(logs) > 0 && !isFile(one) {
		return logs
	}
	return []string{one}
}

// workerLogs returns the logs of a run folder's workers, ordered by GPU. It leaves out logs without
// a whole line, whose worker was killed before it wrote anything.
func workerLogs(dir string) []string {
	// Glob returns an error only for a malformed pattern, and this pattern is well-formed.
	found, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "gpu-*", harness.LogName))
	slices.SortFunc(found, func(a, b string) int { return gpuOf(a) - gpuOf(b) })
	return slices.DeleteFunc(found, func(log string) bool {
		return gpuOf(log) < 0 || !hasLine(log)
	})
}

// hasLine reports whether a log has at least one whole line, or a first line of more than 1 MiB.
func hasLine(log string) bool {
	const long = 1 << 20 // bytes
	if !isFile(log) {
		return false
	}
	f, err := os.Open(log)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // only read
	head, _ := io.ReadAll(io.LimitReader(f, long))
	return len(head) == long || bytes.IndexByte(head, '\n') >= 0
}

// escapeGlob returns a pattern for filepath.Glob that matches only this path.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// gpuOf returns the number of a worker's GPU. It takes the number from the name of the folder that
// holds the log, gpu-N. It returns -1 if the folder has another name.
func gpuOf(log string) int {
	n, ok := strings.CutPrefix(filepath.Base(filepath.Dir(log)), "gpu-")
	gpu, err := strconv.ParseUint(n, 10, 16)
	if !ok || err != nil {
		return -1
	}
	return int(gpu)
}

// Of returns the run folder of these logs: one soak.log, or the logs of its workers. It returns ""
// if the logs do not belong to one run folder.
func Of(logs []string) string {
	folder := ""
	for i, log := range logs {
		dir := filepath.Dir(log)
		if gpuOf(log) >= 0 {
			dir = filepath.Dir(dir)
		} else if len(logs) > 1 {
			return ""
		}
		if filepath.Base(log) != harness.LogName || i > 0 && dir != folder {
			return ""
		}
		folder = dir
	}
	return folder
}

// Around returns the run folder that contains a file, such as a log in it. If path is no file, or
// lies in no run folder, Around returns path unchanged.
func Around(path string) string {
	if !isFile(path) {
		return path
	}
	dir := filepath.Dir(path)
	if gpuOf(path) >= 0 {
		dir = filepath.Dir(dir)
	}
	if isFile(filepath.Join(dir, InfoName)) {
		return dir
	}
	return path
}

// Resolve returns paths with each run folder replaced by the logs in it. Other paths stay as they
// are. It returns an error for a folder without a log.
func Resolve(paths []string) ([]string, error) {
	var logs []string
	var errs []error
	for _, path := range paths {
		switch found := Logs(path); {
		case isFile(found[0]):
			logs = append(logs, found...)
		case isFolder(path):
			errs = append(errs,
				fmt.Errorf("%s: expected a log, or a run folder, which has a %s; found %s", path,
					harness.LogName, without(path)))
		default:
			logs = append(logs, path)
		}
	}
	return logs, errors.Join(errs...)
}

// without returns, for a message, what a folder without a log holds instead.
func without(dir string) string {
	entries, err := os.ReadDir(dir)
	newest := newestIn(dir, entries)
	switch {
	case err != nil:
		return "a folder that cannot be read: " + err.Error()
	case isFile(filepath.Join(dir, InfoName)):
		return "the folder of a run whose log is gone"
	case newest != "":
		return "the folder of runs: the newest is " + newest
	case len(entries) == 0:
		return "an empty folder"
	}
	return "a folder without one"
}

// newestIn returns the run folder in dir that was written to last, or "" if dir has no run folder.
func newestIn(dir string, entries []os.DirEntry) (newest string) {
	var last int64
	for _, e := range entries {
		sub := filepath.Join(dir, e.Name())
		for _, of := range append(Logs(sub), filepath.Join(sub, InfoName)) {
			if info, err := os.Stat(of); err == nil && info.Mode().IsRegular() && (newest == "" ||
				info.ModTime().UnixNano() >= last) {
				newest, last = sub, info.ModTime().UnixNano()
			}
		}
	}
	return newest
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
