package bounded

// A Tail is a writer that keeps only the last Limit bytes of everything written to it. It holds,
// for example, the end of a program's stderr.
type Tail struct {
	Limit int // bytes
	text  []byte
}

func (t *Tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p[max(0, len(p)-t.Limit):]...)
	t.text = t.text[max(0, len(t.text)-t.Limit):]
	return len(p), nil
}

// String returns the bytes that the Tail has kept.
func (t *Tail) String() string { return string(t.text) }
