package meter

import (
	"fmt"
	"os"
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
