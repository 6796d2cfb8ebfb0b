package filetype

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"

	"github.com/google/pprof/profile"
)

// JAX's function jax.profiler.save_device_memory_profile writes a device memory profile. This is
// a gzipped pprof profile of the arrays and executables that are alive. PyClient::HeapProfile
// (xla/python/py_client.cc) gives each sample two values, allocations/count and space/bytes, and
// these labels:
//
//	kind=buffer      device=cuda:0  (gpu:0, rocm:0, TPU_0(process=0,(0,0,0,0)), TFRT_CPU_0)
//	kind=executable
//
// The sum of a device's buffers is the memory that the device's allocator has handed out.
// Executables have no device label; the size of their code is a separate reading. Buffers of
// TFRT_CPU_0 are in host memory and give no reading.
//
// An executable may have -1 bytes, or -2 for two of them. SizeOfGeneratedCodeInBytes
// (xla/service/executable.h) returns -1 if the backend cannot tell the size of its code. Such
// executables are left out, and a notice counts them.
const jaxDialect = "jax"

const (
	// profileMax (bytes) and profileMessages limit the memory for a profile. Real profiles have
	// some kilobytes, and a few messages for each line of the profiled program.
	profileMax      = 32 << 20
	profileMessages = 1 << 20
)

// isProfile reports whether a file is a pprof profile. A profile is a protocol buffer whose first
// field is a sample type: field 1, which holds two indices of strings.
func isProfile(head []byte) bool {
	if len(head) < 4 || head[0] != 1<<3|2 || head[1] < 2 || head[1] > 22 ||
		len(head) < 2+int(head[1]) {
		return false
	}
	text := head[2 : 2+head[1]]
	for len(text) > 0 {
		if text[0] != 1<<3 && text[0] != 2<<3 {
			return false
		}
		_, n := binary.Uvarint(text[1:])
		if n <= 0 {
			return false
		}
		text = text[1+n:]
	}
	return true
}

func readProfile(
	r io.Reader,
	name string,
	_ *scan.Dialects,
	yield func(record.Record, error) bool,
) {
	data, err := io.ReadAll(io.LimitReader(r, profileMax+1))
	if err != nil {
		yield(nil, source.ReadError(name, 0, err))
		return
	}
	p := deviceProfile{
		header: record.Header{Pos: record.Position{Path: name, Line: 1}, Dialect: jaxDialect},
	}
	for _, rec := range p.read(data) {
		if !yield(rec, nil) {
			return
		}
	}
}

type deviceProfile struct{ header record.Header }

// read returns the records of a profile, or an error record if the profile cannot be read.
func (p *deviceProfile) read(data []byte) []record.Record {
	const whole = "a whole profile in the pprof format"
	switch n, ok := countMessages(data, 2); {
	case len(data) > profileMax:
		return one(p.bad(fmt.Sprintf("a profile of at most %s", record.FormatBytes(profileMax)), "more"))
	case n > profileMessages:
		return one(p.bad(fmt.Sprintf("a profile of at most %d messages", profileMessages), "more"))
	case !ok:
		return one(p.bad(whole, "a message that is cut off or broken"))
	}
	prof, err := profile.ParseUncompressed(data)
	if err == nil {
		err = prof.CheckValid()
	}
	if err != nil {
		return one(p.bad(whole, err.Error()))
	}
	space := slices.IndexFunc(
		prof.SampleType,
		func(t *profile.ValueType) bool { return t.Type == "space" && t.Unit == "bytes" },
	)
	if space < 0 {
		var types []string
		for _, t := range prof.SampleType {
			types = append(types, t.Type+"/"+t.Unit)
		}
		bad := p.bad(
			"the sample types allocations/count and space/bytes of a device memory profile",
			strings.Join(types, " "),
		)
		bad.Advice += "; for other profiles run: go tool pprof " + argument(p.header.Pos.Path)
		return one(bad)
	}
	if prof.TimeNanos != 0 {
		p.header.Time = time.Unix(0, prof.TimeNanos).UTC()
	}
	return p.sum(prof.Sample, space)
}

func (p *deviceProfile) bad(expected, found string) record.SyntaxError {
	return record.SyntaxError{
		Header: p.header, Expected: expected, Found: lex.Shorten(strings.ToValidUTF8(found, "�"), 80),
		Advice: "give what jax.profiler.save_device_memory_profile wrote",
	}
}

func one(rec record.Record) []record.Record { return []record.Record{rec} }

// argument returns a file's name as an argument of a command that reads the file.
func argument(name string) string {
	if name == "standard input" { // the name of - in messages
		return "-"
	}
	return name
}

// sum adds up the samples. It returns one checkpoint for each device, and one for the executables.
func (p *deviceProfile) sum(samples []*profile.Sample, space int) (records []record.Record) {
	buffers := map[int]int64{} // bytes of each device
	var executables int64
	hasExecutables := false
	unknown := int64(0) // executables whose size is unknown
	host := ""
	for _, s := range samples {
		bytes := s.Value[space]
		kind, device := label(s, "kind"), label(s, "device")
		n, onHost, ok := jaxDevice(device)
		sum := executables
		if kind == "buffer" {
			sum = buffers[n]
		}
		switch {
		case kind == "executable" && bytes < 0:
			unknown += max(1, count(s, space))
		case bytes < 0 || sum+bytes >= 1<<62:
			return one(p.bad("bytes from 0 to 4 EiB", strconv.FormatInt(bytes, 10)))
		case kind == "executable":
			executables, hasExecutables = executables+bytes, true
		case kind != "buffer":
			return one(p.bad("a sample's kind, buffer or executable", kind))
		case onHost:
			host = device
		case device == "":
			return one(p.bad(
				"a buffer's device such as cuda:0, which the profiles of old versions of jaxlib do not have",
				device,
			))
		case !ok:
			return one(p.bad("a buffer's device such as cuda:0 or TPU_0", device))
		default:
			buffers[n] = sum + bytes
		}
	}
	reading := func(name string, device int, q record.Quantity, bytes int64) {
		c := record.Checkpoint{
			Header:  p.header,
			Name:    name,
			Lane:    record.Lane{Device: device},
			Sampled: true,
		}
		c.Set(q, record.Exact(bytes))
		records = append(records, c)
	}
	for _, device := range slices.Sorted(maps.Keys(buffers)) {
		reading("buffers", device, record.Allocated, buffers[device])
	}
	if hasExecutables && host == "" || len(buffers) > 0 && hasExecutables {
		reading("executables", 0, record.Buffer, executables)
	}
	if len(records) == 0 {
		text := "the profile has no buffers"
		if host != "" {
			host = lex.Shorten(strings.ToValidUTF8(host, "�"), 80)
			text = "the profile's buffers are on " + host + ", in host memory"
		}
		records = append(records, record.Warning{Header: p.header, Level: "failed", Text: text})
	}
	if unknown > 0 {
		records = append(records, record.Warning{
			Header: p.header, Level: "notice",
			Text: fmt.Sprintf("executables of unknown size (-1 bytes) that are left out: %d", unknown),
		})
	}
	return records
}

// count returns how many buffers or executables a sample stands for, or 0 if it does not say. The
// parameter space is the index of the sample's bytes.
func count(s *profile.Sample, space int) int64 {
	for i, n := range s.Value {
		if i != space && n > 0 {
			return n
		}
	}
	return 0
}

func label(s *profile.Sample, key string) string {
	if values := s.Label[key]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// jaxDevice returns the number of a device such as "cuda:0" or "TPU_0(process=0,(0,0,0,0))". host
// is set if the device's memory is host memory, as for "TFRT_CPU_0", "cpu:0" and "interpreter:0".
func jaxDevice(device string) (n int, host, ok bool) {
	device, _, _ = strings.Cut(device, "(")
	i := strings.LastIndexAny(device, ":_")
	if i <= 0 {
		return 0, false, false
	}
	n, rest, ok := lex.CutInt([]byte(device[i+1:]))
	platform := strings.ToLower(device[:i])
	host = strings.HasSuffix(platform, "cpu") || platform == "host" || platform == "interpreter"
	return n, host, ok && len(rest) == 0
}

// countMessages counts the fields of a protocol buffer that have a length, also in nested
// messages, down to `levels` levels. The reader calls it before it decodes a profile, because
// decoding takes about a hundred bytes of memory for each field. ok is false if the outermost
// level cannot be read.
func countMessages(data []byte, levels int) (n int, ok bool) {
	for len(data) > 0 {
		tag, size := binary.Uvarint(data)
		if size <= 0 {
			return n, false
		}
		data = data[size:]
		length, skip := uint64(0), 0
		switch tag & 7 {
		case 0:
			_, skip = binary.Uvarint(data)
		case 1:
			skip = 8
		case 2:
			length, skip = binary.Uvarint(data)
		case 5:
			skip = 4
		}
		if skip <= 0 || skip > len(data) || length > uint64(len(data)-skip) {
			return n, false
		}
		if tag&7 == 2 {
			n++
			if levels > 1 {
				inner, _ := countMessages(data[skip:skip+int(length)], levels-1)
				n += inner
			}
		}
		data = data[skip+int(length):]
	}
	return n, true
}
