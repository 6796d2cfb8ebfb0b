package bounded

// A Tail is a writer that keeps the last bytes of what is written to it, such as a program's last
// words on stderr.
type Tail struct {
	Limit int // bytes
	text  []byte
}

func (t *Tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p[max(0, len(p)-t.Limit):]...)
	t.text = t.text[max(0, len(t.text)-t.Limit):]
	return len(p), nil
}

// String returns what was kept.
func (t *Tail) String() string { return string(t.text) }
