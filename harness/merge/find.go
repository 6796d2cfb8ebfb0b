package merge

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"vramsoak/harness/runfolder"
	"vramsoak/harness/shard"
	"vramsoak/parser"
)

// A Shard is where the evidence of one shard is.
type Shard struct {
	Name   string // of its folder, for messages
	Number int    // by the name of its folder
	Logs   []Log  // none if the shard never started; with several GPUs, one of each
	Older  []OlderLog
}

// A Log is a log that can be opened.
type Log struct {
	Name string // for positions and messages
	Open func() (io.ReadCloser, error)
}

// An OlderLog is the log of a task that lost its lease of the shard to a later one.
type OlderLog struct {
	Log
	Lease int
	Size  int64 // bytes
	// From opens the log at an offset in bytes.
	From func(offset int64) (io.ReadCloser, error)
}

// Find returns the shards in these folders, which may be folders of runs and folders of single
// shards. It returns none if no path is of a shard, and an error if only some of the paths are.
func Find(paths []string) ([]Shard, error) {
	var all []Shard
	var other []string
	for _, path := range paths {
		found, err := inFolder(path)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			other = append(other, path)
		}
		all = append(all, found...)
	}
	if len(all) > 0 && len(other) > 0 {
		return nil, fmt.Errorf("%s: expected the folder of a run with shards, such as %s, as the "+
			"other paths are; found none in it; judge it by itself", other[0],
			shard.Folder(1))
	}
	return all, nil
}

// inFolder returns the shard whose folder this is, or the shards in a folder of a run.
func inFolder(path string) ([]Shard, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return nil, nil // another part of the program says so if it is missing
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if number, ok := shard.Of(filepath.Base(abs)); ok {
		s, err := ofFolder(path, number)
		return []Shard{s}, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var all []Shard
	for _, e := range entries {
		number, ok := shard.Of(e.Name())
		dir := filepath.Join(path, e.Name())
		if info, err := os.Stat(dir); !ok || err != nil || !info.IsDir() {
			continue
		}
		s, err := ofFolder(dir, number)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Shard) int { return cmp.Compare(a.Number, b.Number) })
	return all, nil
}

// ofFolder returns the shard in a folder.
func ofFolder(dir string, number int) (Shard, error) {
	s := Shard{Name: dir, Number: number}
	for _, path := range runfolder.Logs(dir) {
		counts, earlier, err := shard.Logs(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // no task has written anything yet
		}
		if err != nil {
			return s, err
		}
		s.Logs = append(s.Logs, fileLog(counts))
		for _, e := range earlier {
			info, err := os.Stat(e.Path)
			if err != nil {
				return s, err
			}
			s.Older = append(s.Older, OlderLog{
				Log: fileLog(e.Path), Lease: e.Lease, Size: info.Size(),
				From: func(offset int64) (io.ReadCloser, error) { return openAt(e.Path, offset) },
			})
		}
	}
	return s, nil
}

func fileLog(path string) Log {
	return Log{Name: path, Open: func() (io.ReadCloser, error) { return parser.Open(path) }}
}

func openAt(path string, offset int64) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
