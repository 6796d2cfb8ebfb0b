package timeline

import (
	"slices"
	"strings"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
)

// A Splitter finds where files begin in a pipeline's output that has no lines of the harness. If
// the pipeline prints file-start lines, a file begins at each of these lines. Otherwise a file
// begins at each checkpoint that has the name of the first checkpoint. A sampled checkpoint never
// begins a file. The harness uses the Splitter while a pipeline is running. The [Builder] uses it
// for a log without the harness's lines.
type Splitter struct {
	first *record.Checkpoint
	named bool
	// numbered is set if the number in the first checkpoint's name counts the files, as in "Epoch
	// 3 start".
	numbered bool
}

// Begins reports whether a file begins with this record.
func (s *Splitter) Begins(rec record.Record) bool {
	switch r := rec.(type) {
	case record.FileStart:
		s.named = true
		return r.Pipeline
	case record.Checkpoint:
		return s.begins(&r)
	}
	return false
}

// begins reports whether a file begins with this checkpoint.
func (s *Splitter) begins(c *record.Checkpoint) bool {
	switch {
	case s.named || c.Sampled:
		return false
	case s.first == nil:
		first := *c
		s.first = &first
		return true
	}
	// Two nodes may have processes of the same local rank.
	return c.Lane == s.first.Lane &&
		record.WithoutRank(c.Writer) == record.WithoutRank(s.first.Writer) && (c.Name == s.first.Name ||
		s.numbered && WithoutNumbers(c.Name) == WithoutNumbers(s.first.Name))
}

// resplit corrects where files begin. The splitter had to decide this before it knew the later
// checkpoints. Some programs log a few checkpoints once, before the first file. Others begin with a
// cleanup that recurs only when an error occurs. In both cases files begin at the first
// checkpoint that recurs and is not inside a pair. If log rotation cut off the beginning of the
// log, the first file is incomplete, and the files begin after its rest.
func (b *Builder) resplit() {
	files := b.tl.Files[b.log.files:]
	ended := func(f *File) bool { return f.Status != record.StatusUnknown || len(f.Checkpoints) == 0 }
	if len(files) == 0 || slices.ContainsFunc(files, ended) {
		return
	}
	checkpoints := make([]record.Checkpoint, 0, b.tl.Checkpoints-b.log.checkpoints)
	var ooms []record.OutOfMemory
	var gaps []eventGap
	for _, f := range files {
		checkpoints, ooms = append(checkpoints, f.Checkpoints...), append(ooms, f.OOMs...)
		if f.Events != nil {
			gaps = append(gaps, f.Events.gaps...)
		}
	}
	rest := 0
	if len(files) > 1 {
		rest = partialFile(checkpoints, len(files[0].Checkpoints))
		if rest == 0 && !checkpoints[0].InCleanup() {
			return
		}
	}
	first, counted := firstOfFile(checkpoints, len(files), rest)
	if first < 0 || first == 0 && !counted {
		return
	}
	b.tl.Files, b.file, b.outside = b.tl.Files[:b.log.files], nil, nil
	b.log.splitter = Splitter{numbered: counted}
	for i := range checkpoints {
		c := &checkpoints[i]
		for len(gaps) > 0 && gaps[0].line < c.Pos.Line {
			b.takeGap(gaps[0])
			gaps = gaps[1:]
		}
		if i >= first && b.log.splitter.begins(c) {
			b.begin(record.FileStart{Header: record.Header{Pos: c.Pos, Time: c.Time}})
		}
		for len(ooms) > 0 && ooms[0].Pos.Line < c.Pos.Line {
			f := b.currentFile(&ooms[0].Header)
			f.OOMs = append(f.OOMs, ooms[0])
			ooms = ooms[1:]
		}
		f := b.currentFile(&c.Header)
		f.Checkpoints = append(grow(f.Checkpoints), *c)
		f.extend(&c.Header)
	}
	b.file.OOMs = append(b.file.OOMs, ooms...)
	for _, gap := range gaps {
		b.takeGap(gap)
	}
}

// joinFiles is called when the pipeline names its first file. The splitter may have taken
// recurring checkpoints before this line for the beginnings of files. joinFiles makes these files
// one part of the log outside of files, such as the loading of a model. If the log gives the end
// of one of these files, they are real files and joinFiles changes nothing.
func (b *Builder) joinFiles() {
	files := b.tl.Files[b.log.files:]
	if len(files) == 0 || slices.ContainsFunc(files,
		func(f *File) bool { return f.Status != record.StatusUnknown }) {
		return
	}
	whole := files[0]
	for _, f := range files[1:] {
		whole.Checkpoints, whole.OOMs = append(whole.Checkpoints, f.Checkpoints...),
			append(whole.OOMs, f.OOMs...)
		whole.EndPos, whole.End = f.EndPos, f.End
	}
	for _, f := range files {
		if f.Events != nil {
			b.moveGaps(f.Events.gaps)
			f.Events = nil
		}
	}
	whole.Outside, whole.Index, whole.Path, whole.Seconds = true, 0, "", 0
	b.tl.Files, b.file = b.tl.Files[:b.log.files], nil
	b.tl.Outside = append(b.tl.Outside, whole)
	b.outside = b.tl.Outside[len(b.tl.Outside)-1]
}

// partialFile returns how many checkpoints at the beginning of a log belong to a file whose own
// beginning is missing. The parameter period is the number of checkpoints until the first
// checkpoint recurs. The partial file ends behind an After whose Before comes only later. It can
// also end before a checkpoint outside of all pairs whose name stands for the beginning of a
// file.
func partialFile(checkpoints []record.Checkpoint, period int) (rest int) {
	befores := map[string]int{} // for each pair, the number of Befores still to come
	for i := range checkpoints {
		if name, begins, _ := checkpoints[i].Pair(); begins {
			befores[name]++
		}
	}
	open, pairs := map[string]int{}, 0
	beginning := -1
	for i := range checkpoints[:period] {
		switch name, begins, ends := checkpoints[i].Pair(); {
		case begins:
			befores[name]--
			open[name]++
			pairs++
		case ends && open[name] > 0:
			open[name]--
			pairs--
		case ends && befores[name] > 0:
			rest, beginning = i+1, -1
		case beginning < 0 && pairs == 0 && namesBeginning(name):
			beginning = i
		}
	}
	return max(rest, beginning)
}

// namesBeginning reports whether a checkpoint's name stands for the beginning of a file, such as
// "Pipeline Initialization". The name "Start" does not count, because a stage inside a file may
// start too.
func namesBeginning(name string) bool {
	switch strings.ToLower(name) {
	case "initialization", "pipeline initialization", "file initialization", "pipeline start",
		"file start":
		return true
	}
	return false
}

// firstOfFile returns the index of the checkpoint that begins the first file, or -1 if no
// checkpoint recurs. The parameter files is the number of files that begin if every file begins
// with the log's first checkpoint. The parameter rest is the result of partialFile. counted is
// set if the checkpoint recurs with another number in its name, as "Epoch 3 start" does.
func firstOfFile(checkpoints []record.Checkpoint, files, rest int) (first int, counted bool) {
	count := map[string]int{}
	afters := map[string]int{} // for each pair, the number of Afters still to come
	for i := range checkpoints {
		c := &checkpoints[i]
		if name, _, ends := c.Pair(); ends {
			afters[name]++
		}
		if !c.Sampled {
			count[c.Name]++
			if bare := WithoutNumbers(c.Name); bare != c.Name {
				count[bare]++
			}
		}
	}
	first, number := -1, -1
	open := map[string]bool{}
	for i := range checkpoints {
		c := &checkpoints[i]
		name, begins, ends := c.Pair()
		if i >= rest && len(open) == 0 && !ends && !c.Sampled && (files == 1 || !c.InCleanup()) {
			if count[c.Name] > files || rest > 0 && count[c.Name] >= max(2, files-1) {
				first = i
				break
			}
			if number < 0 && isNumbered(c.Name) && count[WithoutNumbers(c.Name)] >= max(2, files) {
				number = i
			}
		}
		switch {
		case begins && afters[name] > 0:
			open[name] = true
		case ends:
			afters[name]--
			delete(open, name)
		}
	}
	if number >= 0 && (first < 0 ||
		count[WithoutNumbers(checkpoints[number].Name)] >= count[checkpoints[first].Name]) {
		return number, true
	}
	return first, false
}

// WithoutNumbers returns the name with '#' in place of each number. For "Epoch 3 start", it
// returns "Epoch # start".
func WithoutNumbers(name string) string {
	first := 0
	for first < len(name) && !lex.IsDigit(name[first]) {
		first++
	}
	if first == len(name) {
		return name
	}
	var b strings.Builder
	b.WriteString(name[:first])
	for i := first; i < len(name); i++ {
		switch {
		case !lex.IsDigit(name[i]):
			b.WriteByte(name[i])
		case i == 0 || !lex.IsDigit(name[i-1]):
			b.WriteByte('#')
		}
	}
	return b.String()
}

// isNumbered reports whether the name counts items, as in "Epoch 3 start".
func isNumbered(name string) bool {
	word, rest, _ := strings.Cut(name, " ")
	switch strings.ToLower(word) {
	case "epoch", "iteration", "round", "batch", "step", "file", "video", "item", "job":
		return rest != "" && lex.IsDigit(rest[0])
	}
	return false
}
