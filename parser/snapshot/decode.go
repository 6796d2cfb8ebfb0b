package snapshot

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"vramsoak/parser/record"
)

// A decoder makes a Snapshot from the machine's values. A pickle may refer to one string, frame
// or stack from many places; the decoder makes each of them once. Only one place may refer to any
// other part of a snapshot.
type decoder struct {
	*machine
	stacks  []*Stack          // container.made is the index of a list's stack, plus 1
	frames  []*Frame          // container.made is the index of a dict's frame, plus 1
	strings map[string]string // each text and its only copy
	// long does the same for long strings. Its key is a string's offset in the pickle, because
	// comparing long texts would take too long.
	long  map[int64]string
	pools map[[2]int64]*[2]int64 // each pool of an event and its only copy
	notes notes
}

// snapshot decodes the value that the pickle makes. This value is a dict, or the list of segments
// that torch.cuda.memory_snapshot() returns.
func (d *decoder) snapshot(top value) (*Snapshot, error) {
	s := &Snapshot{}
	byIndex := map[int]*Device{}
	device := func(index int) *Device {
		if byIndex[index] == nil {
			byIndex[index] = &Device{Index: index}
		}
		return byIndex[index]
	}
	segments := top
	var settings *Settings
	if top.kind() == dict {
		o, err := d.object(top, "a snapshot", 0)
		if err != nil {
			return nil, err
		}
		if segments, err = o.need("segments", list); err != nil {
			return nil, err
		}
		if err := d.traces(o, device); err != nil {
			return nil, err
		}
		if settings, err = d.settings(o); err != nil {
			return nil, err
		}
		if err := d.annotations(o, s); err != nil {
			return nil, err
		}
		d.others(o)
	}
	items, err := d.items(segments, "a snapshot: a dict, or its segments", 0)
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		segment, index, err := d.segment(item)
		if err != nil {
			return nil, err
		}
		dev := device(index)
		dev.Segments = append(dev.Segments, segment)
		if err := d.allocate(1, segmentSize); err != nil {
			return nil, err
		}
	}
	known := sites{}
	for _, dev := range byIndex {
		dev.sites = known
		if err := d.order(dev); err != nil {
			return nil, err
		}
		dev.Settings = settings
		s.Devices = append(s.Devices, *dev)
	}
	slices.SortFunc(s.Devices, func(a, b Device) int { return a.Index - b.Index })
	s.Notes = d.notes.list()
	return s, nil
}

// others adds a note on each entry of a snapshot that is not read.
func (d *decoder) others(o object) {
	for i := 0; i+1 < len(o.items); i += 2 {
		if o.items[i].kind() != text {
			continue
		}
		switch key := string(o.d.bytes(o.items[i])); key {
		case "segments", "device_traces", "allocator_settings", "external_annotations":
		case "host_segments", "host_traces":
			// Newer versions of PyTorch write these. They hold data if _record_memory_history was
			// called with record_pinned_host_memory=True (aten/src/ATen/core/CachingHostAllocator.h).
			// They are about host memory, not about a device.
			if n := d.entries(o.items[i+1]); n == 1 {
				d.notes.key(key, " with 1 entry (pinned host memory)")
			} else if n > 1 {
				d.notes.key(key, fmt.Sprintf(" with %d entries (pinned host memory)", n))
			}
		default:
			d.notes.key(utf8Text(o.d.bytes(o.items[i])), ", a key that vramsoak does not know")
		}
	}
}

// entries returns the number of items in a list, or in all lists of a list of lists.
func (d *decoder) entries(v value) (n int) {
	if v.kind() != list {
		return 0
	}
	for _, item := range d.of(v).items {
		if item.kind() == list {
			n += len(d.of(item).items)
		} else {
			n++
		}
	}
	return n
}

// order sorts a device's segments by address. It returns an error if two segments overlap, or if
// they add up to more memory than a device has.
func (d *decoder) order(dev *Device) error {
	slices.SortFunc(dev.Segments, func(a, b Segment) int { return cmp.Compare(a.Address, b.Address) })
	sum := int64(0)
	for _, s := range dev.Segments {
		if sum += s.Size; sum > maxSize {
			return d.wrong(0, "segments of at most 2 TiB in sum",
				fmt.Sprintf("more on device %d", dev.Index))
		}
	}
	for i := 1; i < len(dev.Segments); i++ {
		before, s := dev.Segments[i-1], dev.Segments[i]
		if before.Address+uint64(before.Size) > s.Address {
			return d.wrong(0, "segments that do not overlap",
				fmt.Sprintf("those at %#x (%d bytes) and at %#x of device %d", before.Address, before.Size,
					s.Address, dev.Index))
		}
	}
	return nil
}

// maxDevices is a limit that no real machine reaches.
const maxDevices = 1 << 12

// segment decodes a segment and returns the number of its device.
func (d *decoder) segment(v value) (s Segment, device int, err error) {
	o, err := d.object(v, "a segment", 0)
	if err != nil {
		return s, 0, err
	}
	number, _ := o.get("device")
	index, _ := d.int(number)
	if index < 0 || index >= maxDevices {
		return s, 0, d.wrong(o.at, "a segment's device", d.decimal(number))
	}
	if s.Address, err = o.address("address"); err != nil {
		return s, 0, err
	}
	if s.Size, err = o.size("total_size"); err != nil {
		return s, 0, err
	}
	s.Stream, s.Small = o.bits("stream"), o.text("segment_type") == "small"
	expandable, _ := o.get("is_expandable")
	s.Expandable = expandable == valueOf(boolean, 1)
	s.Pool, _ = o.pool("segment_pool_id")
	if s.Stack, err = d.stack(o); err != nil {
		return s, 0, err
	}
	blocks, err := o.need("blocks", list)
	if err != nil {
		return s, 0, err
	}
	items, err := d.items(blocks, "a segment's blocks", o.at)
	if err != nil {
		return s, 0, err
	}
	s.Blocks = make([]Block, 0, len(items))
	at := s.Address
	for _, item := range items {
		b, err := d.block(item, at, o.at)
		if err != nil {
			return s, 0, err
		}
		if b.State != record.BlockFree {
			s.Active, s.Requested = s.Active+b.Size, s.Requested+b.Requested
		}
		if b.State == record.BlockAllocated {
			s.Allocated += b.Size
		}
		at += uint64(b.Size)
		s.Blocks = append(s.Blocks, b)
		if at > s.Address+uint64(s.Size) {
			break
		}
	}
	if at != s.Address+uint64(s.Size) {
		return s, 0, d.wrong(o.at, fmt.Sprintf("blocks of %d bytes, as the segment has", s.Size),
			fmt.Sprintf("%d", at-s.Address))
	}
	return s, int(index), nil
}

var states = map[string]record.BlockState{
	"active_allocated": record.BlockAllocated, "active_pending_free": record.BlockPending,
	"inactive":             record.BlockFree,
	"active_awaiting_free": record.BlockPending, // the word in PyTorch's documentation
}

// block decodes a block. The parameter address is the block's address. The parameter at is the
// offset in the file of the segment's dict.
func (d *decoder) block(v value, address uint64, at uint32) (b Block, err error) {
	o, err := d.object(v, "a block", at)
	if err != nil {
		return b, err
	}
	b.Address = address
	if b.Size, err = o.size("size"); err != nil {
		return b, err
	}
	if b.Size == 0 {
		return b, d.wrong(o.at, "a block of some bytes", "one of none")
	}
	state, ok := states[o.text("state")]
	if !ok {
		return b, d.wrong(o.at,
			`a block whose "state" is active_allocated, active_pending_free or inactive`,
			fmt.Sprintf("%q", o.text("state")))
	}
	b.State = state
	if b.Stack, err = d.stack(o); err != nil {
		return b, err
	}
	var requested value
	if history, _ := o.get("history"); history.kind() == list && len(d.of(history).items) > 0 {
		// In files of 2023 a block has a history of its owners, the last owner first.
		owner, err := d.object(d.of(history).items[0], "a block's history", o.at)
		if err != nil {
			return b, err
		}
		if b.Stack == nil {
			if b.Stack, err = d.stack(owner); err != nil {
				return b, err
			}
		}
		requested, _ = owner.get("real_size")
	}
	if v, ok := o.get("requested_size"); ok {
		requested = v
	}
	if b.Requested, ok = d.int(requested); ok && b.Requested >= 0 && b.Requested <= b.Size {
		return b, nil
	}
	if state == record.BlockFree {
		b.Requested = 0 // the size before the block was merged with its neighbours
		return b, nil
	}
	d.notes.number("requested_size", "a block", "blocks", d.decimal(requested),
		"the size of the block")
	b.Requested = b.Size
	return b, nil
}

// traces decodes the events of all devices, one list for each.
func (d *decoder) traces(o object, device func(int) *Device) error {
	v, ok := o.get("device_traces")
	if !ok || v.kind() == none {
		return nil
	}
	devices, err := d.items(v, `the "device_traces" of a snapshot`, o.at)
	if err != nil {
		return err
	}
	if len(devices) > maxDevices {
		return d.wrong(o.at, fmt.Sprintf("traces of at most %d devices", maxDevices),
			fmt.Sprint(len(devices)))
	}
	for index, v := range devices {
		events, err := d.items(v, "a device's trace", o.at)
		if err != nil {
			return err
		}
		kept := make([]Event, 0, len(events))
		for _, v := range events {
			e, known, err := d.event(v, o.at)
			if err != nil {
				return err
			}
			if known {
				kept = append(kept, e)
			}
		}
		if len(kept) > 0 {
			device(index).Events = kept
		}
	}
	return nil
}

// withoutMemory lists actions that change no memory. Programs add user_defined themselves, and
// torch.cuda.memory records it for annotations.
var withoutMemory = []string{"user_defined", "annotate"}

// event decodes an event of a trace. known is false if the event's action is unknown, as are those
// in withoutMemory and those of newer versions.
func (d *decoder) event(v value, at uint32) (e Event, known bool, err error) {
	o, err := d.object(v, "an event", at)
	if err != nil {
		return e, false, err
	}
	if _, err := o.need("action", text); err != nil {
		return e, false, err
	}
	action, known := actions[o.text("action")]
	if !known {
		if name := o.text("action"); !slices.Contains(withoutMemory, name) {
			d.notes.action(name)
		}
		return e, false, nil
	}
	e.Action, e.Stream, e.Micros = action, o.bits("stream"), o.int("time_us")
	if e.Pool, err = d.poolOf(o); err != nil {
		return e, true, err
	}
	if action == OOM { // a request may have any size, as for N x N elements with a wrong N
		if e.Size, err = o.memory("size", math.MaxInt64, false); err == nil {
			e.DeviceFree, err = o.memory("device_free", maxSize, true)
		}
	} else if e.Size, err = o.size("size"); err == nil {
		e.Address, err = o.address("addr")
	}
	if err == nil {
		e.Stack, err = d.stack(o)
	}
	return e, true, err
}

// poolSize is the memory of an entry in decoder.pools, in bytes.
const poolSize = 2 * 48

// poolOf returns the pool of an event, or nil if the event does not give it.
func (d *decoder) poolOf(o object) (*[2]int64, error) {
	id, ok := o.pool("pool_id")
	if !ok {
		return nil, nil
	}
	if d.pools[id] == nil {
		d.pools[id] = &id
		return &id, d.allocate(1, poolSize)
	}
	return d.pools[id], nil
}

// settings decodes the allocator's settings. Older files have none.
func (d *decoder) settings(o object) (*Settings, error) {
	v, ok := o.get("allocator_settings")
	if !ok || v.kind() == none {
		return nil, nil
	}
	o, err := d.object(v, `the "allocator_settings" of a snapshot`, o.at)
	if err != nil {
		return nil, err
	}
	s := &Settings{Conf: o.text("PYTORCH_CUDA_ALLOC_CONF")}
	if s.Conf == "" {
		s.Conf = o.text("PYTORCH_ALLOC_CONF") // as the allocator for Intel's cards writes it
	}
	v, _ = o.get("roundup_power2_divisions")
	if v.kind() != dict {
		return s, nil
	}
	divisions, err := d.object(v, "roundup_power2_divisions", o.at)
	if err != nil {
		return nil, err
	}
	for i := range s.RoundupPower2Divisions {
		key := strconv.Itoa(1 << i)
		v, _ := divisions.get(key)
		n, ok := d.int(v)
		if !ok || n < 0 || n&(n-1) != 0 { // PyTorch asserts a power of 2, of any size
			d.notes.number(key, "roundup_power2_divisions", "", d.decimal(v), "0")
			continue
		}
		s.RoundupPower2Divisions[i] = n
	}
	return s, nil
}

// annotations decodes the names that the program recorded. Older files have none.
func (d *decoder) annotations(o object, s *Snapshot) error {
	v, ok := o.get("external_annotations")
	if !ok || v.kind() == none {
		return nil
	}
	items, err := d.items(v, `the "external_annotations" of a snapshot`, o.at)
	if err != nil {
		return err
	}
	for _, item := range items {
		a, err := d.object(item, "an annotation", o.at)
		if err != nil {
			return err
		}
		s.Annotations = append(s.Annotations, Annotation{
			Name: a.text("name"), Device: int(a.int("device")), Start: a.text("stage") == "START",
			Micros: a.int("time_us"),
		})
		if err := d.allocate(1, annotationSize); err != nil {
			return err
		}
	}
	slices.SortStableFunc(s.Annotations, func(a,
		b Annotation,
	) int {
		return cmp.Compare(a.Device, b.Device)
	})
	return nil
}
