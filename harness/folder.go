package harness

import (
	"fmt"
	"path/filepath"
	"strconv"
)

// These are the names of files and folders in a run folder and next to it.
const (
	// LogName is the name of the log in a run folder or, with several GPUs, in each worker's folder.
	LogName = "soak.log"
	// RescuedSuffix is appended to the name of a run folder to name its rescue folder. The harness
	// saves the log in the rescue folder if somebody removes the log during the run.
	RescuedSuffix = ".rescued"
)

// listName returns the name of the file that holds the paths of a process's files (FeedList). The
// harness overwrites it for each process. If several tasks have worked on a shard, each has a file
// of its own, because an earlier one may still run.
func (c Config) listName() string {
	if c.Share.Lease > 1 {
		return fmt.Sprintf("files.lease-%06d.txt", c.Share.Lease)
	}
	return "files.txt"
}

// WorkerDir returns the folder of a GPU's worker in a run folder: WorkerDir("runs/x", 1) is
// "runs/x/gpu-1".
func WorkerDir(dir string, gpu int) string {
	return filepath.Join(dir, workerName(gpu))
}

func workerName(gpu int) string { return "gpu-" + strconv.Itoa(gpu) }

// logPath returns the path of the run's log.
func (c Config) logPath() string { return filepath.Join(c.Dir, LogName) }
