package snapshot

import (
	"fmt"
	"io"
	"os"
)

// Open reads a snapshot from a file, or from standard input if the path is "-". Open recognises
// gzip and zstd by the first bytes.
func Open(path string) (*Snapshot, error) {
	file, name := os.Stdin, "standard input"
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }() // only read
		file, name = f, path
	}
	if info, err := file.Stat(); err != nil {
		return nil, err
	} else if info.IsDir() {
		return nil, fmt.Errorf("%s is a folder; expected a snapshot in it, such as %s/snapshot.pickle",
			path, path)
	}
	return Read(file, name)
}

// Read reads a snapshot from r, which may be compressed. The parameter name is the snapshot's name
// in errors.
func Read(r io.Reader, name string) (*Snapshot, error) {
	in, err := open(r)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	defer in.close()
	return (&machine{path: name, input: in}).snapshot()
}

// snapshot runs the pickle and decodes the value that the pickle makes.
func (m *machine) snapshot() (*Snapshot, error) {
	top, err := m.run()
	if err != nil {
		return nil, err
	}
	d := decoder{
		machine: m, strings: map[string]string{}, long: map[int64]string{},
		pools: map[[2]int64]*[2]int64{},
	}
	return d.snapshot(top)
}
