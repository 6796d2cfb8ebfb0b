package meter

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// RSS is the resident memory of a process, in bytes, from /proc/PID/statm. A process that is gone is an error that is
// fs.ErrNotExist or syscall.ESRCH; one that ended and was not waited for yet has 0.
func RSS(pid int) (int64, error) {
	path := fmt.Sprintf("/proc/%d/statm", pid)
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(data)) // size resident shared ..., in pages
	if len(fields) < 2 {
		return 0, fmt.Errorf("%s: expected 7 numbers of pages, found %q", path, data)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: expected a number of resident pages, found %q", path, fields[1])
	}
	return pages * int64(os.Getpagesize()), nil
}

// Tree is a process and its descendants: a pipeline is often started by another program (uv run, torchrun, a script). One
// whose parent has ended is no longer found.
func Tree(pid int) []int {
	pids := []int{pid}
	for i := 0; i < len(pids); i++ {
		for _, child := range Children(pids[i]) {
			if !slices.Contains(pids, child) {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

// Children are the processes that a process is the parent of, those that have ended and were not waited for among them.
func Children(pid int) []int {
	var pids []int
	// They stand with the thread that started them.
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is good
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // it has ended
		}
		for field := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}
