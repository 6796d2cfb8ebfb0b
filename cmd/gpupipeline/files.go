//go:build whisper

package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
)

// paths yields the files of the batch in the order in which to work on them.
func paths(ctx context.Context, o *options) iter.Seq2[string, error] {
	if o.order != "smallest" {
		return given(ctx, o)
	}
	return func(yield func(string, error) bool) {
		var all []string
		for path, err := range given(ctx, o) {
			if err != nil {
				yield("", err)
				return
			}
			all = append(all, path)
		}
		sizes := make(map[string]int64, len(all))
		for _, path := range all {
			// The size of a missing file is 0, so it comes first. Working on it then gives the
			// error.
			if info, err := os.Stat(path); err == nil {
				sizes[path] = info.Size()
			}
		}
		slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(sizes[a], sizes[b]) })
		for _, path := range all {
			if !yield(path, nil) {
				return
			}
		}
	}
}

// given yields the paths of the batch: from the arguments, from the list, or from stdin.
func given(ctx context.Context, o *options) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, path := range o.paths {
			if !yield(path, nil) {
				return
			}
		}
		if o.list != "" {
			list, err := os.Open(o.list)
			if err != nil {
				yield("", fmt.Errorf("--list: %w", err))
				return
			}
			defer func() { _ = list.Close() }() // only read
			if !each(ctx, list, "--list", yield) {
				return
			}
		}
		if o.stdin {
			each(ctx, os.Stdin, "--stdin", yield)
		}
	}
}

// each yields the lines of r that are not empty, each as soon as it is complete. It stops when ctx
// is canceled. A goroutine reads the lines. It may outlive the call, because a read from a pipe
// cannot be canceled.
func each(ctx context.Context, r io.Reader, name string, yield func(string, error) bool) bool {
	type result struct {
		line string
		err  error
	}
	lines := make(chan result)
	done := make(chan struct{})
	defer close(done)
	go func() {
		defer close(lines)
		buffered := bufio.NewReader(r)
		for {
			line, err := buffered.ReadString('\n')
			select {
			case lines <- result{strings.TrimRight(line, "\r\n"), err}:
			case <-done:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return false
		case l, ok := <-lines:
			if !ok {
				return true
			}
			if l.err != nil && !errors.Is(l.err, io.EOF) { // the line may be incomplete
				yield("", fmt.Errorf("%s: %w", name, l.err))
				return false
			}
			if l.line != "" && !yield(l.line, nil) {
				return false
			}
		}
	}
}
