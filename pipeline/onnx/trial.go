package onnx

import (
	"maps"
	"os"
	"slices"
	"sync"
	"time"
)

// A Trial records that ONNX Runtime could run a model. It is valid as long as the file's size and
// modification time are the same.
type Trial struct {
	Path     string
	Size     int64 // bytes
	Modified time.Time
}

var tried = struct {
	sync.Mutex
	files map[string]Trial
}{files: map[string]Trial{}}

// Trials returns the successful trials of this process, so that another process can skip them: see
// [Trust].
func Trials() []Trial {
	tried.Lock()
	defer tried.Unlock()
	return slices.Collect(maps.Values(tried.files))
}

// Trust adds the trials of another process, so that this process does not repeat them.
func Trust(trials []Trial) {
	tried.Lock()
	defer tried.Unlock()
	for _, t := range trials {
		tried.files[t.Path] = t
	}
}

// Try calls run, which tries the model at path, unless an earlier trial of the file was successful:
// a trial takes the time and memory of loading the model. It returns run's error.
func Try(path string, run func() error) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	tried.Lock()
	defer tried.Unlock()
	if t, ok := tried.files[path]; ok && t.Size == info.Size() && t.Modified.Equal(info.ModTime()) {
		return nil
	}
	if err := run(); err != nil {
		return err
	}
	tried.files[path] = Trial{path, info.Size(), info.ModTime()}
	return nil
}
