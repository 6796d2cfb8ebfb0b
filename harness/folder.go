package harness

import (
	"path/filepath"
	"strconv"
)

// What a run folder holds.
const (
	// LogName is the name of the log in a run folder, or in a worker's folder.
	LogName = "soak.log"
	// RescuedSuffix is appended to a run folder's name for the folder that its log is saved to if
	// it is removed during the run.
	RescuedSuffix = ".rescued"
	// listName is the name of the file that lists a process's files. Each process's list replaces
	// the last one.
	listName = "files.txt"
)

// WorkerDir returns the folder of a worker in a run folder.
func WorkerDir(dir string, gpu int) string {
	return filepath.Join(dir, workerName(gpu))
}

func workerName(gpu int) string { return "gpu-" + strconv.Itoa(gpu) }

// logPath returns where the run's log is.
func (c Config) logPath() string { return filepath.Join(c.Dir, LogName) }
