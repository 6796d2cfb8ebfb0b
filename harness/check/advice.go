package check

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// adviceMax is the most lines of advice on a failed allocation.
const adviceMax = 5

const (
	// worth is the smallest part of the device's memory that a piece of advice must save, unless it
	// alone makes the failed allocation fit.
	worth = 0.05
	// suffices ends advice that alone makes the failed allocation fit.
	suffices = "; that alone is enough for it"
)

// A shortage holds the numbers of a failed allocation, in bytes. A number that the log does not
// give is 0.
type shortage struct {
	oom  *record.OutOfMemory
	file *timeline.File
	// requested is the size of the request. room is what the allocator could still get, from the
	// device or under the program's limit, and missing is what the request lacked. Both are valid
	// only if roomKnown is set.
	requested, room, missing int64
	roomKnown                bool
	// total is the size of the device, or the program's limit if that is what ran out.
	total    int64
	unused   int64 // reserved and not allocated
	others   int64 // held by other processes
	dark     int64 // held by this process and not reserved by the allocator
	capped   bool  // the program's limit ran out, and not the device
	inPieces bool  // enough memory was free in the allocator, but not in one piece
}

// shortageOf returns the numbers of a failed allocation.
func (j *Judge) shortageOf(f failure) shortage {
	o := f.oom
	s := shortage{oom: o, file: f.file, total: o.Bytes(record.Total)}
	if o.HasRequested {
		s.requested = o.Requested.Bytes
	}
	s.room, s.roomKnown = o.Bytes(record.Free), o.Has(record.Free)
	if room, capped := allowedRoom(o); capped {
		s.room, s.roomKnown, s.capped, s.total = room, true, true, o.Allowed.Bytes
	}
	if s.roomKnown {
		s.missing = max(0, s.requested-s.room)
	}
	if cache, ok := o.Cache(); ok {
		s.unused = cache.Bytes
	}
	s.others = j.othersAt(o, f.file)
	if own, ok := o.Get(record.Used); ok && o.Has(record.Reserved) {
		s.dark = max(0, own.Bytes-o.Bytes(record.Reserved))
	}
	s.inPieces = s.requested > 0 && (s.unused >= s.requested ||
		s.missing > 0 && s.unused >= s.missing+2*segmentSize)
	if h := o.Held; h != nil { // the map of the blocks shows it
		s.inPieces = h.LargestFree < s.requested && h.Free+s.room >= s.requested
	}
	return s
}

// segmentSize is the size of the pages of an expandable segment, in bytes (kLargeBuffer in
// c10/cuda/CUDACachingAllocator.cpp). At both ends of a free piece, part of a page may be in use.
const segmentSize = 20 << 20

// othersAt returns how much memory other processes held on the device when an allocation failed, in
// bytes. It returns 0 if the log does not say it.
func (j *Judge) othersAt(o *record.OutOfMemory, f *timeline.File) int64 {
	total, hasTotal := o.Get(record.Total)
	free, hasFree := o.Get(record.Free)
	own, hasOwn := o.Get(record.Used)
	if hasTotal && hasFree && hasOwn {
		return max(0, total.Bytes-free.Bytes-own.Bytes)
	}
	var others int64
	for i := range j.tl.Samples {
		s := &j.tl.Samples[i]
		if s.Run == f.Run && s.Lane.Device == o.Lane.Device && s.Pos.Line < o.Pos.Line {
			others = s.Others
		}
	}
	return others
}

// advice returns what to do about a failed allocation, by the numbers of the log. It gives no
// advice that the numbers contradict.
func (j *Judge) advice(f failure) []string {
	s := j.shortageOf(f)
	all := j.memoryAdvice(&s)
	switch compared := j.compareRequest(&s); {
	case compared.isUnusual() && compared.leads():
		all = append([]string{compared.unusualAdvice()}, all...)
	case compared.isUnusual():
		all = append(all, compared.unusualAdvice())
	case compared.isUsual():
		all = append(all, compared.usualAdvice())
	}
	suggested := j.suggested()
	room := adviceMax
	if suggested != "" {
		room-- // for the program's own words
	}
	all = all[:min(len(all), room)]
	room = adviceMax
	add := func(text string) {
		if text != "" && len(all) < room {
			all = append(all, text)
		}
	}
	add(suggested)
	if j.isTraining() {
		add("training: gradient accumulation, activation checkpointing and mixed precision also need " +
			"less memory; how much is not known from this log: run vramsoak soak with and without one, " +
			"and vramsoak compare measures it")
	}
	if len(all) == 0 {
		add(s.rest())
	}
	return all
}

// memoryAdvice returns the advice on what takes the memory that a request lacked, and on the size
// of the request.
func (j *Judge) memoryAdvice(s *shortage) (all []string) {
	add := func(text string) {
		if text != "" {
			all = append(all, text)
		}
	}
	if alone := s.alone(); alone != "" {
		add(alone)
		add(j.batchAdvice(s))
		return all
	}
	// A leak that alone explains the failure also makes cleanups free too little.
	if cause := j.causeOfShortage(s); cause == nil || cause.Check == Recovery {
		add(j.recoveryAdvice(s))
	}
	add(j.leakAdvice(s))
	caused := len(all) > 0
	if !caused {
		var heldOver string
		heldOver, caused = j.heldOverAdvice(s)
		add(cmp.Or(heldOver, s.residentAdvice()))
	}
	if len(all) == 0 {
		add(s.fullAdvice())
	}
	add(s.fragmentationAdvice(caused))
	add(s.limitAdvice())
	add(s.othersAdvice())
	add(s.outsideAdvice())
	add(s.darkAdvice())
	add(j.batchAdvice(s))
	return all
}

// alone returns the advice for a request that is larger than the whole device.
func (s *shortage) alone() string {
	total := s.oom.Bytes(record.Total)
	if total == 0 || s.requested <= total {
		return ""
	}
	return fmt.Sprintf("do the work of this request in smaller parts: it asked for %s at once, more "+
		"than all %s of the device, so no setting of the allocator makes it fit",
		formatBytes(s.requested), formatBytes(total))
}

// worthIt reports whether a gain of memory is worth advising, and whether it alone is enough.
func (s *shortage) worthIt(gain int64) (worthy, enough bool) {
	enough = s.missing > 0 && gain >= s.missing
	return gain > 0 && (enough || s.total > 0 && float64(gain) >= worth*float64(s.total)), enough
}

// leakAdvice returns the advice to mend a leak first, with what it took until memory ran out.
func (j *Judge) leakAdvice(s *shortage) string {
	g, gain, files := j.grownBefore(s, (*Ledger).holds)
	if g == nil {
		return ""
	}
	text := fmt.Sprintf("first mend the leak: the %s grew by %s over %s", g.of.Name,
		formatBytes(gain), Plural(files, "file"))
	if _, enough := s.worthIt(gain); enough {
		text += fmt.Sprintf(", and the request lacked only %s", formatBytes(s.missing))
	}
	return text + fmt.Sprintf("; until it is mended, start a new process every %d files or fewer "+
		"(vramsoak soak --restart-every %d)", max(1, files/2), max(1, files/2))
}

// grownBefore returns the ledger of the wanted kind that grew until memory ran out, by how many
// bytes it grew, and over how many files. It returns nil if no such ledger grew by as much as
// [shortage.worthIt] asks for.
func (j *Judge) grownBefore(s *shortage, wanted func(*Ledger) bool) (
	g *grownLedger, gain int64, files int,
) {
	for i := range j.growths {
		g := &j.growths[i]
		if g.lane == nil || g.w.of.process != s.file.Process || len(j.lanes) > 1 &&
			g.lane.id != s.oom.Lane || !wanted(g.of) {
			continue
		}
		p := g.w.of
		last := -1 // the last file before the failure
		for k, n := range p.files {
			if j.tl.Files[n].Pos.Line < s.oom.Pos.Line && !isUnknown(p.values[k]) {
				last = k
			}
		}
		if last < 1 {
			continue
		}
		gain = int64(p.values[last] - p.values[0])
		if worthy, _ := s.worthIt(gain); worthy {
			return g, gain, (last + 1) * p.stride
		}
	}
	return nil, 0, 0
}

func isUnknown(v float64) bool { return v != v }

// fullAdvice returns the advice on memory that is free in pieces, and so little of it that the
// device is full.
func (s *shortage) fullAdvice() string {
	if !s.inPieces || !isPyTorch(s.oom) || !s.isFull() {
		return ""
	}
	return fmt.Sprintf("the device is full: of %s only %s is free, in pieces; take a smaller batch "+
		"or model, or a larger card; vramsoak validate finds what fits (docs/how-to/validate.md)",
		formatBytes(s.total), formatBytes(s.unused+s.room))
}

// fragmentationAdvice returns the advice on memory that is free in the allocator, but in pieces.
// caused is true if other advice names the cause.
func (s *shortage) fragmentationAdvice(caused bool) string {
	if !s.inPieces || !isPyTorch(s.oom) || s.isFull() {
		return ""
	}
	than := "more than the " + formatBytes(s.requested) + " that was asked for"
	if s.unused < s.requested {
		than = fmt.Sprintf("and with the %s left that is enough for the %s that was asked for",
			formatBytes(s.room), formatBytes(s.requested))
	}
	text := fmt.Sprintf("fragmentation: %s is reserved and not allocated, %s, but in pieces; set "+
		"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", formatBytes(s.unused), than)
	if h := s.oom.Held; h != nil && h.Unusable > 0 {
		text = fmt.Sprintf("the cache of stream %d has a free block of %s, which the request could not "+
			"use, because it was on another stream: run all work on one stream, or set "+
			"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", h.UnusableStream,
			formatBytes(h.Unusable))
	}
	if caused {
		text += ", which only postpones the failure"
	}
	return text
}

func (s *shortage) isFull() bool { return IsFull(s.unused+s.room, s.total) }

// IsFull reports whether so few of a device's bytes are free, in one piece or in several, that no
// setting of the allocator is worth advising. total is 0 if it is unknown.
func IsFull(free, total int64) bool {
	return total > 0 && float64(free) < worth*float64(total)
}

// isPyTorch reports whether PyTorch's allocator printed the message.
func isPyTorch(o *record.OutOfMemory) bool {
	return strings.Contains(o.Text, "PyTorch") || strings.Contains(o.Text, "GPU")
}

// limitAdvice returns the advice to raise the limit that the program set for its own allocator.
func (s *shortage) limitAdvice() string {
	free, total := s.oom.Bytes(record.Free), s.oom.Bytes(record.Total)
	if worthy, enough := s.worthIt(free - s.room); s.capped && worthy {
		text := fmt.Sprintf("raise the program's own limit: it allows its allocator %s, and %s of the "+
			"device was free", formatBytes(s.oom.Allowed.Bytes), formatBytes(free))
		if total > 0 {
			text = fmt.Sprintf("raise the program's own limit: it allows its allocator %s of %s, and %s of "+
				"the device was free", formatBytes(s.oom.Allowed.Bytes), formatBytes(total), formatBytes(free))
		}
		text += " (torch.cuda.set_per_process_memory_fraction)"
		if enough {
			text += suffices
		}
		return text
	}
	return ""
}

// othersAdvice returns the advice to end other processes on the device.
func (s *shortage) othersAdvice() string {
	worthy, enough := s.worthIt(s.others)
	if s.capped || !worthy {
		return ""
	}
	text := fmt.Sprintf("other processes hold %s of the %s: end them, or use a device of your own",
		formatBytes(s.others), formatBytes(s.total))
	if enough {
		text += suffices
	}
	return text
}

// darkAdvice returns the advice on memory of this process that its allocator does not know.
func (s *shortage) darkAdvice() string {
	worthy, enough := s.worthIt(s.dark)
	if s.capped || !worthy {
		return ""
	}
	text := fmt.Sprintf("%s of this process is dark memory (in use and not reserved by the "+
		"allocator): find the library of the process that holds it", formatBytes(s.dark))
	if enough {
		text += suffices
	}
	return text
}

// suggested returns what the program itself suggests.
func (j *Judge) suggested() string {
	all := j.work().Suggestions
	if len(all) == 0 {
		return ""
	}
	last := all[len(all)-1]
	return fmt.Sprintf("the program itself suggests %s (%s)", last.Text, last.At)
}

// rest returns what can be said without a knob that the log supports.
func (s *shortage) rest() string {
	switch {
	case s.requested == 0 || !s.roomKnown:
		return "the log does not say how much was asked for and how much was free: print the " +
			"allocator's whole message, and checkpoints, to get advice by numbers"
	case s.missing > 0:
		return fmt.Sprintf("the request lacked %s of %s, and the log shows no memory that a setting "+
			"would give back: take a smaller batch or model, or a larger card; vramsoak validate finds "+
			"what fits (docs/how-to/validate.md)", formatBytes(s.missing), formatBytes(s.requested))
	}
	return ""
}

func formatBytes(n int64) string { return record.FormatBytes(n) }

// trainers are the dialects of programs that train.
var trainers = []string{
	"training", "gan-training", "deepspeed", "megatron", "hf-trainer", "peft", "axolotl", "unsloth",
	"torchtune", "torchtitan", "nanotron", "colossalai", "composer", "oumi", "maxtext", "nanogpt",
	"mlx-lm", "ms-swift", "jepa", "verl", "swin", "detr", "detectron2", "yolox", "slowfast",
	"openmmlab", "yolo", "fairseq",
}

// trainingName finds names of checkpoints in programs that train.
var trainingName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`(?i)(^|[^a-z])(train(ing)?|fine[- _]?tun(e|ing)|epoch|backward|optimi[sz]er)([^a-z]|$)`)
})

// isTraining reports whether the log shows that the program trains a model: by its dialect, or by
// the names of checkpoints.
func (j *Judge) isTraining() bool {
	others := map[string]bool{} // names that do not match
	for _, c := range j.tl.All() {
		if slices.Contains(trainers, c.Dialect) {
			return true
		}
		name := j.naming(c).uncounted
		if others[name] {
			continue
		}
		if trainingName().MatchString(name) {
			return true
		}
		if len(others) < namesMax {
			others[name] = true
		}
	}
	return false
}
