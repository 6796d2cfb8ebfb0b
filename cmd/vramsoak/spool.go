package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"vramsoak/parser"
)

// A spool keeps what is read from streams: standard input, FIFOs, process substitutions. A stream
// can be read once, but a log is judged twice if its run's policy comes after the first
// checkpoints. The nil spool keeps nothing.
type spool struct {
	again bool // the streams are read again, in the order in which they were read first
	kept  []*keptStream
	next  int   // in kept, to be read again
	limit int64 // bytes of each stream that are kept
	// known says that the first log begins with its run, so that the policy is known from the
	// start; opened counts logs.
	known  bool
	opened int
}

// spoolMax bounds the bytes of a stream that are kept.
const spoolMax = 256 << 20

// A keptStream is a temporary file with the text of a stream.
type keptStream struct {
	path        string   // as the user gave it
	file        *os.File // already unlinked; nil if it could not be made
	left, limit int64    // bytes
	err         error    // why the text is not there as a whole
}

// wants reports whether the next log, which begins with head, is to be kept where it is a stream.
func (s *spool) wants(head []byte) bool {
	if s == nil {
		return false
	}
	if s.opened++; s.opened == 1 {
		s.known = bytes.HasPrefix(head, []byte(parser.HarnessPrefix+" run-start "))
	}
	return !s.known
}

// keep copies a stream into a temporary file while it is read.
func (s *spool) keep(r io.Reader, path string) io.Reader {
	k := &keptStream{path: path, left: s.limit, limit: s.limit}
	s.kept = append(s.kept, k)
	file, err := os.CreateTemp("", "vramsoak-*.log")
	if err != nil {
		k.err = err
		return r
	}
	k.file, k.err = file, os.Remove(file.Name()) // it is gone when it is closed, also after a kill
	return io.TeeReader(r, k)
}

// Write implements [io.Writer]. It never fails: that a stream was not kept matters only where it
// must be read again.
func (k *keptStream) Write(p []byte) (int, error) {
	switch {
	case k.err != nil:
		return len(p), nil
	case int64(len(p)) > k.left:
		k.err = fmt.Errorf("it has more than %s", parser.FormatBytes(k.limit))
	default:
		k.left -= int64(len(p))
		_, k.err = k.file.Write(p)
	}
	if k.err != nil {
		_ = k.file.Truncate(0) // gives the room back
	}
	return len(p), nil
}

// has reports whether the next log was kept, and is now to be read again.
func (s *spool) has(path string) bool {
	return s != nil && s.again && s.next < len(s.kept) && s.kept[s.next].path == path
}

// read returns the text of the next stream, from its first byte.
func (s *spool) read() (io.Reader, error) {
	k := s.kept[s.next]
	s.next++
	if k.err == nil {
		_, k.err = k.file.Seek(0, io.SeekStart)
	}
	if k.err != nil {
		return nil, fmt.Errorf("%s: the run's policy comes after the first checkpoints, so the log must "+
			"be read twice, and it could not be kept: %w; save it in a file, or give the policy with --policy",
			displayName(k.path), k.err)
	}
	return k.file, nil
}

// close frees the temporary files' disk space.
func (s *spool) close() {
	for _, k := range s.kept {
		if k.file != nil {
			_ = k.file.Close() // nothing was to be kept longer
		}
	}
}
