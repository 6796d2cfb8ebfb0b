package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// listName is the name of the list file in the run folder. Each process's list replaces the last one's.
const listName = "files.txt"

// The environment variables that every process gets.
const (
	// EnvFirst is the place in the batch, from 1, of the first file that the process gets, so that it can number its files
	// as the batch does.
	EnvFirst = "VRAMSOAK_FIRST"
	// envUnbuffered has Python write its lines when it prints them, not when a buffer of 8 KiB is full.
	envUnbuffered = "PYTHONUNBUFFERED=1"
)

// spawn is what a process is started with.
type spawn struct {
	argv []string
	env  []string
	// stdin is what the process reads on its standard input, where it reads files there; else it gets /dev/null.
	stdin    string
	hasStdin bool
}

// spawn prepares the start of a process that gets the files of these indices.
func (r *run) spawn(fed []int) (spawn, error) {
	s := spawn{argv: r.cfg.Command}
	switch r.cfg.Feed {
	case FeedProcess:
		s.argv = replace(s.argv, pathMark, r.batch.files[fed[0]].Path)
	case FeedList:
		path, err := filepath.Abs(filepath.Join(r.cfg.Dir, listName))
		if err != nil {
			return s, fmt.Errorf("list of files: %w", err)
		}
		if err := os.WriteFile(path, []byte(r.list(fed)), 0o644); err != nil {
			return s, fmt.Errorf("list of files: %w", err)
		}
		s.argv = replace(s.argv, listMark, path)
	case FeedStdin:
		s.stdin, s.hasStdin = r.list(fed), true
	case FeedNone:
	}
	first := 1
	if len(fed) > 0 {
		first = fed[0] + 1
	}
	s.env = append(os.Environ(), envUnbuffered, EnvFirst+"="+strconv.Itoa(first))
	s.env = append(s.env, r.cfg.Env...)
	s.env = append(s.env, r.cfg.gpuEnv()...)
	s.env = append(s.env, marks(r.id)...)
	return s, nil
}

// list is the paths of files, one a line.
func (r *run) list(fed []int) string {
	var b strings.Builder
	for _, i := range fed {
		b.WriteString(r.batch.files[i].Path)
		b.WriteByte('\n')
	}
	return b.String()
}

// replace puts value in the place of mark in a command's arguments.
func replace(argv []string, mark, value string) []string {
	out := make([]string, len(argv))
	for i, arg := range argv {
		out[i] = strings.ReplaceAll(arg, mark, value)
	}
	return out
}
