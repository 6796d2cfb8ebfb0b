package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/klauspost/compress/gzip"

	"vramsoak/parser/bounded"
)

// An input is the unread part of a pickle. Reading decompresses it piece by piece, up to
// [MaxSize] and [MaxRatio].
type input struct {
	r      io.Reader // nil when it has ended
	packed *counter  // nil if the file is not compressed
	close  func()
}

// step is how many bytes of the pickle are read at a time.
const step = 1 << 20

// open returns an input that reads r. It recognises a compressed file by the file's first bytes.
func open(r io.Reader) (*input, error) {
	head := make([]byte, 4)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	packed := &counter{r: io.MultiReader(bytes.NewReader(head[:n]), r)}
	switch {
	case bytes.HasPrefix(head[:n], []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(packed)
		if err != nil {
			return nil, fmt.Errorf("it begins like gzip: %w", err)
		}
		return &input{r: z, packed: packed, close: func() {}}, nil
	case bytes.Equal(head[:n], []byte{0x28, 0xb5, 0x2f, 0xfd}):
		file, _ := r.(*os.File)
		z, err := bounded.Zstd(packed, file)
		if err != nil {
			return nil, err
		}
		return &input{r: z, packed: packed, close: func() { _ = z.Close() }}, nil // only read
	}
	return &input{r: packed, close: func() {}}, nil
}

// read reads until n bytes after the current position are in memory, or until the pickle ends.
func (m *machine) read(n int) error {
	in := m.input
	for in != nil && in.r != nil && len(m.data)-m.pos < n {
		if err := m.readStep(); err != nil {
			return fmt.Errorf("reading %s: %w", m.path, err)
		}
		switch size := int64(len(m.data)); {
		case size > MaxSize:
			return fmt.Errorf("reading %s: expected a pickle of at most %d GiB, found more; record less: "+
				"torch.cuda.memory._record_memory_history(max_entries=1000000)", m.path, MaxSize>>30)
		case in.packed != nil && size > ratioFree+MaxRatio*in.packed.n:
			return fmt.Errorf("reading %s: expected a pickle that unpacks to at most %d times its size, "+
				"found %d KiB in the first %d bytes; "+
				"if PyTorch wrote it, unpack it first", m.path, MaxRatio, size>>10, in.packed.n)
		}
	}
	return nil
}

// readStep reads up to `step` bytes more.
func (m *machine) readStep() error {
	if len(m.data) == cap(m.data) {
		m.data = slices.Grow(m.data, max(step, len(m.data)/4))
	}
	for end := min(cap(m.data), len(m.data)+step); len(m.data) < end; {
		n, err := m.input.r.Read(m.data[len(m.data):end])
		m.data = m.data[:len(m.data)+n]
		if errors.Is(err, io.EOF) {
			m.input.r = nil
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
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
