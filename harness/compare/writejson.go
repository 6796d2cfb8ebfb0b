package compare

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"vramsoak/harness/check"
)

// WriteJSON writes the verdict of a comparison as [check.Report] does, and in the same object what
// was compared, indented. It encodes one metric at a time: a log can have 120,000.
func (c *Comparison) WriteJSON(w io.Writer, r *check.Report) error {
	head := *c
	head.Changes = []Change{}
	text, err := indented(struct {
		*check.Report
		*Comparison
	}{r, &head}, "")
	if err != nil {
		return err
	}
	const end = "]\n}"
	out := bufio.NewWriter(w) // keeps its first error until Flush
	_, _ = out.Write(bytes.TrimSuffix(text, []byte(end)))
	for i := range c.Changes {
		if text, err = indented(&c.Changes[i], "    "); err != nil {
			return err
		}
		if i > 0 {
			_ = out.WriteByte(',')
		}
		_, _ = out.WriteString("\n    ")
		_, _ = out.Write(text)
	}
	if len(c.Changes) > 0 {
		_, _ = out.WriteString("\n  ")
	}
	_, _ = out.WriteString(end + "\n")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write a comparison: %w", err)
	}
	return nil
}

// indented is a value as JSON, each of its lines but the first after a prefix.
func indented(v any, prefix string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent(prefix, "  ")
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode a comparison: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
