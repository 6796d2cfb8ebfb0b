package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/parser/bounded"
)

// baselineMax is the largest size of a baseline, in bytes. A baseline of 10,000 files has 3 MiB.
const baselineMax = 64 << 20

// ReadBaseline returns the baseline in r, which [Baseline.WriteJSON] wrote. The parameter name is
// the name of the file; errors give it with the line and the column.
func ReadBaseline(r io.Reader, name string) (*Baseline, error) {
	src, err := bounded.ReadAll(r, name, baselineMax)
	if large, ok := errors.AsType[*bounded.TooLargeError](err); ok {
		return nil, fmt.Errorf("%s: expected a baseline of at most %d MiB, found %s; save it again "+
			"from the run",
			name, baselineMax>>20, large.Found())
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	d := &baselineReader{src: src, name: name, dec: json.NewDecoder(bytes.NewReader(src))}
	if err := d.schema(); err != nil {
		return nil, err
	}
	b := &Baseline{}
	if err := d.object(map[string]func() error{
		"schema":  func() error { return d.value(&b.Schema, "a string") },
		"run":     func() error { return d.value(&b.Run, "an object that says which run it was") },
		"files":   func() error { return d.files(&b.Files) },
		"failed":  func() error { return d.files(&b.Failed) },
		"metrics": func() error { return d.metrics(b) },
	}); err != nil {
		return nil, err
	}
	for i, m := range b.Metrics {
		if !m.Fits(len(b.Files)) && m.Places != nil {
			return nil, d.fail(d.offsets[i], fmt.Sprintf("expected places of the metric %q that rise from "+
				"0 to less than %d, the number of files, and a value for each", m.Name, len(b.Files)))
		}
		if !m.Fits(len(b.Files)) {
			return nil, d.fail(d.offsets[i],
				fmt.Sprintf("expected a value for each of the %d files of the metric %q, found %d",
					len(b.Files), m.Name, len(m.Values)))
		}
	}
	return New(b.Measurements, b.Run), nil
}

// A baselineReader decodes a baseline and knows its position in the source.
type baselineReader struct {
	src     []byte
	name    string
	dec     *json.Decoder
	offsets []int64 // where each metric begins in src
}

// fail returns an error that says what, with the line and the column of an offset in the source.
func (d *baselineReader) fail(offset int64, what string) error {
	line, column := bounded.LineColumn(d.src, offset)
	return fmt.Errorf("%s:%d:%d: %s", d.name, line, column, what)
}

// schema returns an error if the source is not a baseline, or is a baseline in the format of
// another version. ReadBaseline calls it first.
func (d *baselineReader) schema() error {
	var head struct {
		Schema *string `json:"schema"`
	}
	err := json.Unmarshal(d.src, &head)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return d.fail(syntax.Offset-1, fmt.Sprintf("expected JSON: %v", syntax))
	}
	if err != nil || head.Schema == nil {
		return d.fail(0,
			fmt.Sprintf("expected a baseline, an object with \"schema\": %q, found none; vramsoak "+
				"baseline save makes one", Schema))
	}
	if *head.Schema != Schema {
		at := max(0, bytes.Index(d.src, []byte(`"schema"`)))
		return d.fail(int64(at),
			fmt.Sprintf("expected the schema %q, found %q; save the baseline again from its run with this "+
				"vramsoak: vramsoak baseline save", Schema, *head.Schema))
	}
	return nil
}

// next returns the offset of the next token.
func (d *baselineReader) next() int64 {
	offset := d.dec.InputOffset()
	for offset < int64(len(d.src)) && strings.IndexByte(" \t\r\n,:", d.src[offset]) >= 0 {
		offset++
	}
	return offset
}

// open reads the opening bracket of an object or a list. The parameter what names the expected
// value in the error.
func (d *baselineReader) open(delim json.Delim, what string) error {
	offset := d.next()
	if token, err := d.dec.Token(); err != nil || token != delim {
		return d.fail(offset, "expected "+what)
	}
	return nil
}

// object reads an object. The parameter fields maps each key to the function that reads its value.
func (d *baselineReader) object(fields map[string]func() error) error {
	if err := d.open('{', "an object"); err != nil {
		return err
	}
	seen := map[string]bool{}
	for d.dec.More() {
		offset := d.next()
		token, err := d.dec.Token()
		if err != nil {
			return d.fail(offset, err.Error())
		}
		key, _ := token.(string)
		read, known := fields[key]
		if !known || seen[key] {
			return d.fail(offset,
				fmt.Sprintf("expected one of the keys schema, run, files, failed, metrics, each once, found %q",
					key))
		}
		seen[key] = true
		if err := read(); err != nil {
			return err
		}
	}
	return nil
}

// value decodes the next value into to. It returns an error if the value has an unknown field. The
// parameter what names the expected value in errors.
func (d *baselineReader) value(to any, what string) error {
	offset := d.next()
	var raw json.RawMessage
	if err := d.dec.Decode(&raw); err != nil {
		return d.fail(offset, err.Error())
	}
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	if err := strict.Decode(to); err != nil {
		return d.fail(offset, fmt.Sprintf("expected %s: %s", what,
			strings.TrimPrefix(err.Error(), "json: ")))
	}
	return nil
}

func (d *baselineReader) files(to *[]check.MeasuredFile) error {
	if err := d.open('[', "a list of files"); err != nil {
		return err
	}
	for d.dec.More() {
		var f check.MeasuredFile
		if err := d.value(&f, `a file such as {"path":"a.wav","index":1,"process":0}`); err != nil {
			return err
		}
		*to = append(*to, f)
	}
	return d.close()
}

func (d *baselineReader) metrics(b *Baseline) error {
	if err := d.open('[', "a list of metrics"); err != nil {
		return err
	}
	for d.dec.More() {
		var m check.Metric
		offset := d.next()
		if err := d.value(&m,
			`a metric such as {"name":"peak","unit":"bytes","values":[1073741824]}`); err != nil {
			return err
		}
		switch m.Unit {
		case check.Bytes, check.Count, check.Ratio, check.Seconds, check.TimesRealTime:
		default:
			return d.fail(offset, fmt.Sprintf("expected a metric with the unit %s, %s, %s, %s or %s, "+
				"found %q", check.Bytes, check.Count, check.Ratio, check.Seconds, check.TimesRealTime, m.Unit))
		}
		if m.Name == "" || m.Resolution < 0 {
			return d.fail(offset, "expected a metric with a name and a resolution of 0 or more")
		}
		for _, v := range append(m.Values, m.Resolution) {
			if math.Abs(v) > 1<<62 {
				return d.fail(offset, fmt.Sprintf("expected numbers of less than 2^62, found %g", v))
			}
		}
		d.offsets = append(d.offsets, offset)
		b.Metrics = append(b.Metrics, m)
	}
	return d.close()
}

// close reads the closing bracket of a list.
func (d *baselineReader) close() error {
	_, err := d.dec.Token()
	return err // schema has checked that the source is JSON
}
