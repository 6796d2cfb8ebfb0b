package bounded

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
)

// MaxLine is the most bytes that a line in a list of files may have. A path on Linux has at most
// 4,096 bytes.
const MaxLine = 64 << 10

// Lines yields the lines of a list, each with its newline, as soon as the line arrives. A line is
// valid only until the next line is yielded. A line of more than [MaxLine] bytes ends the list with
// an error.
func Lines(r io.Reader, name string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		lines := bufio.NewReaderSize(r, MaxLine)
		for n := 1; ; n++ {
			line, err := lines.ReadSlice('\n')
			if errors.Is(err, bufio.ErrBufferFull) {
				yield(nil, fmt.Errorf("%s:%d: expected a line of at most %d KiB, found a longer one; "+
					"is this the right file?", name, n, MaxLine>>10))
				return
			}
			if err != nil && !errors.Is(err, io.EOF) {
				yield(nil, err)
				return
			}
			if len(line) > 0 && !yield(line, nil) || err != nil {
				return
			}
		}
	}
}
