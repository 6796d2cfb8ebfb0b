package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// MaxSize is the largest pickle that is read, in bytes. PyTorch writes some 300 to 1,000 bytes for an event with a stack;
// its default of 2^63 events is used up by memory, not by this.
const MaxSize = 2 << 30

// MaxRatio bounds what a compressed pickle may unpack to, for each byte of it, beyond the first 64 MiB: gzip -9 takes the
// recordings in fixtures/logs to between an 8th and a 36th, and a file made to exhaust memory to a 1000th.
const MaxRatio = 100

// Open reads the snapshot in a file, compressed by gzip or zstd (told by its first bytes) or not, or "-" for standard input.
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
		return nil, fmt.Errorf("%s is a folder; expected a snapshot in it, such as %s/snapshot.pickle", path, path)
	}
	return Read(file, name)
}

// Read reads the snapshot that r has, compressed or not; name is what errors call it.
func Read(r io.Reader, name string) (*Snapshot, error) {
	data, err := readAll(r)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return (&machine{path: name, data: data}).snapshot()
}

// snapshot runs the pickle and takes its object for a snapshot.
func (m *machine) snapshot() (*Snapshot, error) {
	top, err := m.run()
	if err != nil {
		return nil, err
	}
	d := decoder{machine: m, strings: map[string]string{}}
	return d.snapshot(top)
}

// readAll is what r has, decompressed. The size of what it decompresses to is bounded as that of any pickle is.
func readAll(r io.Reader) ([]byte, error) {
	head := make([]byte, 4)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	packed := &counter{r: io.MultiReader(bytes.NewReader(head[:n]), r)}
	r = packed
	limit := func() int64 { return MaxSize }
	unpacked := func() int64 { return min(MaxSize, 64<<20+MaxRatio*packed.n) }
	switch {
	case bytes.HasPrefix(head[:n], []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, fmt.Errorf("it begins like gzip: %w", err)
		}
		r, limit = z, unpacked
	case bytes.Equal(head[:n], []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return nil, fmt.Errorf("it begins like zstd: %w", err)
		}
		defer z.Close()
		r, limit = z, unpacked
	}
	var data bytes.Buffer
	for {
		switch _, err := io.CopyN(&data, r, 1<<20); {
		case int64(data.Len()) > MaxSize:
			return nil, fmt.Errorf("expected a pickle of at most %d GiB, found more; record less: "+
				"torch.cuda.memory._record_memory_history(max_entries=1000000)", MaxSize>>30)
		case int64(data.Len()) > limit():
			return nil, fmt.Errorf("expected a pickle that unpacks to at most %d times its size, found %d MiB in the first %d KiB; "+
				"if PyTorch wrote it, unpack it first", MaxRatio, data.Len()>>20, packed.n>>10)
		case errors.Is(err, io.EOF):
			return data.Bytes(), nil
		case err != nil:
			return nil, err
		}
	}
}

// A counter counts the bytes that are read through it.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
