package snapshot

import (
	"fmt"
	"math"

	"vramsoak/parser/record"
)

// longString is the length of a string in bytes above which the decoder looks the string up by
// its offset and not by its text.
const longString = 256

// maxText is how many bytes of a string are kept. The strings are names of files, functions and
// actions. Without a limit, reports could become huge, because many blocks may refer to one long
// string.
const maxText = 4096

// An object is a dict of the pickle that is being decoded.
type object struct {
	d     *decoder
	what  string // "a segment"
	at    uint32
	items []value // alternating keys and values
}

// get returns the value of a key. If the key occurs twice, it returns the last value, as Python
// does.
func (o object) get(key string) (value, bool) {
	for i := len(o.items) - 2; i >= 0; i -= 2 {
		k := o.items[i]
		if k.kind() == text && string(o.d.bytes(k)) == key {
			return o.items[i+1], true
		}
	}
	return 0, false
}

const adviceForm = "if PyTorch wrote it, its form is new: say which version"

// wrong returns the error for a file that does not have the form of a snapshot.
func (d *decoder) wrong(at uint32, expected, found string) error {
	return &FormatError{
		Path: d.path, Offset: int64(at), Expected: expected, Found: found,
		Advice: adviceForm,
	}
}

// object returns the dict v and claims it for one part of the snapshot. If another part has
// claimed the dict already, object returns an error.
func (d *decoder) object(v value, what string, at uint32) (object, error) {
	if v.kind() != dict {
		return object{}, d.wrong(at, what+" as a dict", v.kind().String())
	}
	c := d.of(v)
	if c.made != 0 {
		return object{}, d.wrong(c.at, what+" that is in one place", "one that two places refer to")
	}
	c.made = claimed
	return d.open(v, what), nil
}

// open returns the dict v without claiming it.
func (d *decoder) open(v value, what string) object {
	c := d.of(v)
	return object{d: d, what: what, at: c.at, items: c.items}
}

// items returns the items of the list v and claims the list for one part of the snapshot. If
// another part has claimed the list already, items returns an error.
func (d *decoder) items(v value, what string, at uint32) ([]value, error) {
	if v.kind() != list {
		return nil, d.wrong(at, what+" as a list", v.kind().String())
	}
	c := d.of(v)
	if c.made != 0 && len(c.items) > 0 {
		return nil, d.wrong(c.at, what+" in one place", "a list that two places refer to")
	}
	c.made = claimed
	return c.items, nil
}

// need returns the value of a key. It returns an error if the key is missing or its value is not
// of kind k.
func (o object) need(key string, k kind) (value, error) {
	v, ok := o.get(key)
	switch {
	case !ok:
		return v, o.d.wrong(o.at, fmt.Sprintf("%s with %q", o.what, key), "none")
	case v.kind() != k:
		return v, o.d.wrong(o.at, fmt.Sprintf("%s whose %q is %s", o.what, key, k), v.kind().String())
	}
	return v, nil
}

// maxSize is more memory than any device has. It also limits the sum of a device's segments,
// because rebuilding them in a trace takes an operation for each MiB.
const maxSize = int64(1) << 41

// size returns the value of a key as a number of bytes, from 0 to maxSize.
func (o object) size(key string) (int64, error) { return o.bytes(key, maxSize) }

// bytes returns the value of a key as a number of bytes, from 0 to most.
func (o object) bytes(key string, most int64) (int64, error) {
	v, err := o.need(key, integer)
	if err != nil {
		return 0, err
	}
	n, ok := o.d.int(v)
	if !ok || n < 0 || n > most {
		return 0, o.d.wrong(o.at, fmt.Sprintf("%s whose %q is from 0 to %s", o.what, key,
			record.FormatBytes(most)), o.d.decimal(v))
	}
	return n, nil
}

// address returns the value of a key as an address in the memory of a device. The addresses of
// Intel's cards have the highest bit, so that they are below 0 where PyTorch writes an int64_t.
func (o object) address(key string) (uint64, error) {
	v, err := o.need(key, integer)
	if err != nil {
		return 0, err
	}
	n, ok := o.d.bits(v)
	if !ok || n > math.MaxUint64-uint64(maxSize) {
		return 0, o.d.wrong(o.at, fmt.Sprintf("%s whose %q is an address", o.what, key),
			o.d.decimal(v))
	}
	return n, nil
}

// text returns the first [maxText] bytes of a key's string, or "" if the dict lacks the key.
func (o object) text(key string) string {
	v, _ := o.get(key)
	if v.kind() != text {
		return ""
	}
	raw := o.d.bytes(v)
	raw = raw[:min(len(raw), maxText)]
	long := len(raw) > longString
	s, ok := o.d.long[v.number()]
	if !long {
		s, ok = o.d.strings[string(raw)]
	}
	if !ok {
		o.d.made += 2*int64(len(raw)) + stringSize
	}
	switch {
	case ok:
		return s
	case long:
		s = utf8Text(raw)
		o.d.long[v.number()] = s
	default:
		s = utf8Text(raw)
		o.d.strings[string(raw)] = s
	}
	return s
}

// int returns the value of a key as a number. It returns 0 if the dict lacks the key, or if the
// number does not fit an int64.
func (o object) int(key string) int64 {
	if v, _ := o.get(key); v.kind() == integer {
		if n, ok := o.d.int(v); ok {
			return n
		}
	}
	return 0
}

// bits returns the value of a key as 64 bits, or 0 if the dict lacks the key.
func (o object) bits(key string) uint64 {
	v, _ := o.get(key)
	n, _ := o.d.bits(v)
	return n
}

// line returns the line number of a frame, or 0 if it has none. Python gives -1 for code without a
// line number. pybind11 makes 18446744073709551615 of it, because PyTorch keeps it as a uint64_t
// (unwind::Frame in torch/csrc/profiler/unwind/unwind.h).
func (o object) line(key string) int {
	n := o.int(key)
	if n < 0 || n > math.MaxInt32 {
		return 0
	}
	return int(n)
}

// memory returns a number of bytes of an event, from 0 to most. A number that is out of range
// counts as the nearest number in range, or as 0 if it is above most and zero is set; a note names
// it.
func (o object) memory(key string, most int64, zero bool) (int64, error) {
	v, err := o.need(key, integer)
	if err != nil {
		return 0, err
	}
	n, ok := o.d.int(v)
	if ok && n >= 0 && n <= most {
		return n, nil
	}
	instead := int64(0)
	if n > most && !zero {
		instead = most
	}
	o.d.notes.number(key, "an event", "events", o.d.decimal(v), record.FormatBytes(instead))
	return instead, nil
}

// pool returns the value of a key as the id of a private pool. ok is false if the dict lacks the
// key.
func (o object) pool(key string) (id [2]int64, ok bool) {
	pool, _ := o.get(key)
	if pool.kind() != list || len(o.d.of(pool).items) < len(id) {
		return id, false
	}
	for i := range id {
		n, _ := o.d.bits(o.d.of(pool).items[i])
		id[i] = int64(n)
	}
	return id, true
}
