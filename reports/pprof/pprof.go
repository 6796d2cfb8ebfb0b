// Package pprof writes a memory snapshot as a profile for go tool pprof.
package pprof

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/google/pprof/profile"

	"vramsoak/parser/record"
	"vramsoak/parser/snapshot"
	"vramsoak/reports/sink"
)

// Write writes the blocks of a memory snapshot as a gzipped profile for go tool pprof. Each sample
// has four values:
//
//	inuse_space/bytes    inuse_objects/count    active blocks, when the snapshot was taken
//	peak_space/bytes     peak_objects/count     allocated blocks at the history's peak, or 0
//
// The parameter analyses holds an analysis for each device of the snapshot. Each sample has a label
// "device". Stacks have only Python frames and begin at the innermost line that is not PyTorch's
// own. If the parameter all is set, the stacks are complete. For a block without a stack, the
// profile has one frame that says why.
func Write(w io.Writer, snap *snapshot.Snapshot, analyses []*snapshot.Analysis, all bool) error {
	b := profileBuilder{
		all:       all,
		functions: map[[2]string]*profile.Function{},
		locations: map[snapshot.Frame]*profile.Location{},
		samples:   map[sampleKey]*profile.Sample{},
		stacks:    map[*snapshot.Stack][]*profile.Location{},
		Profile: &profile.Profile{
			SampleType: []*profile.ValueType{
				{Type: "inuse_space", Unit: "bytes"},
				{Type: "inuse_objects", Unit: "count"},
				{Type: "peak_space", Unit: "bytes"},
				{Type: "peak_objects", Unit: "count"},
			},
			DefaultSampleType: "inuse_space",
		},
	}
	for i := range snap.Devices {
		d := &snap.Devices[i]
		t := analyses[i].Trace
		traced := t != nil && t.Allocations > 0
		for _, s := range d.Segments {
			for _, block := range s.Blocks {
				if block.State != record.BlockFree {
					b.add(d.Index, block.Stack, traced, 0, block.Size)
				}
			}
		}
		if !traced {
			continue
		}
		for _, h := range d.Holding(t.Peak.Event) {
			b.add(d.Index, h.Stack, traced, 2, h.Size)
		}
		b.TimeNanos = max(b.TimeNanos, d.Events[len(d.Events)-1].Micros*int64(time.Microsecond))
	}
	if err := b.CheckValid(); err != nil {
		return fmt.Errorf("the profile: %w", err)
	}
	return b.Write(w)
}

type sampleKey struct {
	device int
	stack  *snapshot.Stack
}

type profileBuilder struct {
	*profile.Profile
	all       bool
	functions map[[2]string]*profile.Function // by name and file
	locations map[snapshot.Frame]*profile.Location
	samples   map[sampleKey]*profile.Sample
	stacks    map[*snapshot.Stack][]*profile.Location
}

// add adds a block to two values of its stack's sample: its bytes to value `at`, and 1 to value
// at+1.
func (b *profileBuilder) add(device int, stack *snapshot.Stack, traced bool, at int, bytes int64) {
	key := sampleKey{device, stack}
	s := b.samples[key]
	if s == nil {
		s = &profile.Sample{
			Value: make([]int64, len(b.SampleType)), Location: b.stack(stack, traced),
			Label: map[string][]string{"device": {"cuda:" + strconv.Itoa(device)}},
		}
		b.samples[key] = s
		b.Sample = append(b.Sample, s)
	}
	s.Value[at] += bytes
	s.Value[at+1]++
}

// stack returns the locations of a stack, innermost first.
func (b *profileBuilder) stack(stack *snapshot.Stack, traced bool) []*profile.Location {
	if stack == nil {
		name := snapshot.NoStack
		if traced {
			name = snapshot.Before
		}
		return []*profile.Location{b.location(snapshot.Frame{Function: name})}
	}
	if known, ok := b.stacks[stack]; ok {
		return known
	}
	var out []*profile.Location
	for _, f := range stack.Outward(b.all) {
		out = append(out, b.location(*f))
	}
	if len(out) == 0 { // the stack has only C++ frames
		out = append(out, b.location(snapshot.Frame{Function: stack.Site().Function}))
	}
	b.stacks[stack] = out
	return out
}

func (b *profileBuilder) location(f snapshot.Frame) *profile.Location {
	if l := b.locations[f]; l != nil {
		return l
	}
	key := [2]string{f.Function, f.File}
	fn := b.functions[key]
	if fn == nil {
		// Without a system name, pprof shows the name as it is. With one, it would read "<module>"
		// as the arguments of a C++ template.
		fn = &profile.Function{
			ID: uint64(len(b.Function) + 1), Name: sink.Name(f.Function),
			Filename: sink.Name(f.File),
		}
		b.functions[key] = fn
		b.Function = append(b.Function, fn)
	}
	l := &profile.Location{
		ID:   uint64(len(b.Location) + 1),
		Line: []profile.Line{{Function: fn, Line: int64(f.Line)}},
	}
	b.locations[f] = l
	b.Location = append(b.Location, l)
	return l
}
