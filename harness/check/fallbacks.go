package check

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"vramsoak/parser/timeline"
)

// fallbacks judges what the fallbacks of the pipeline cost: whether files went on without a part of
// their work, such as the diarization. Such a file ends ok, and its result lacks that part. If
// a file skipped the part and the log does not say why, the finding is undecided.
func (j *Judge) fallbacks() {
	losses := j.losses()
	var stages []string
	for _, l := range losses {
		if !slices.Contains(stages, l.Stage) {
			stages = append(stages, l.Stage)
		}
	}
	for _, stage := range stages {
		j.add(j.lossFinding(stage, slices.DeleteFunc(slices.Clone(losses), func(l loss) bool {
			return l.Stage != stage
		})))
	}
	if n := j.work().Fallbacks; n > 0 && len(stages) == 0 {
		j.add(Finding{
			Check: Fallbacks, Verdict: Pass, Subject: "work", Unit: Count, Measured: new(0.0),
			Limit: new(0.0), absent: true,
			Message: Plural(n, "fallback") + ", and no line says that a file went on without a part of " +
				"its work",
		})
	}
}

// A loss is a part of the work that one file went on without.
type loss struct {
	timeline.Loss
	file *timeline.File // nil if the log only names it in the line
}

// starved reports whether an allocation failed in the loss's file.
func (l *loss) starved() bool { return l.file != nil && len(l.file.OOMs) > 0 }

// name returns the loss's file for a message, or "" if the log does not name it.
func (l *loss) name() string {
	switch {
	case l.file != nil && !l.file.Outside:
		return fileName(l.file)
	case l.File != "":
		return baseName(l.File)
	}
	return ""
}

// losses returns what the files went on without, at their last attempts, in the order of the log.
// Each file with a name has one loss for each stage.
func (j *Judge) losses() []loss {
	has := func(f *timeline.File) bool { return f.Events != nil && len(f.Events.Losses) > 0 }
	if len(j.tl.Between.Losses) == 0 && !slices.ContainsFunc(j.tl.Files, has) {
		return nil
	}
	files := j.tl.LastAttempts()
	byName := map[string]*timeline.File{}
	for _, f := range files {
		byName[baseName(f.Path)] = f
	}
	var all []loss
	known := map[[2]string]bool{}
	add := func(f *timeline.File, losses []timeline.Loss) {
		for _, l := range losses {
			next := loss{l, f}
			if named := byName[baseName(l.File)]; l.File != "" && named != nil {
				next.file = named // several files may be in work at once
			}
			id := [2]string{l.Stage, next.name()}
			if id[1] == "" || !known[id] {
				known[id] = true
				all = append(all, next)
			}
		}
	}
	for _, f := range files {
		if has(f) {
			add(f, f.Events.Losses)
		}
	}
	add(nil, j.tl.Between.Losses)
	slices.SortStableFunc(all, func(a, b loss) int { return cmp.Compare(a.At.Line, b.At.Line) })
	return all
}

// baseName returns the last element of a path, also of one of Windows.
func baseName(p string) string { return path.Base(strings.ReplaceAll(p, `\`, "/")) }

// lossFinding returns the finding on the files that went on without a stage.
func (j *Judge) lossFinding(stage string, losses []loss) Finding {
	f := Finding{
		Check: Fallbacks, Verdict: Fail, Subject: stage, Unit: Count, Limit: new(0.0),
	}
	sure := slices.DeleteFunc(slices.Clone(losses), func(l loss) bool { return l.Unexplained })
	shown, text := sure, "went on without "+stage
	if len(sure) == 0 {
		f.Verdict, shown, text = Undecided, losses, "skipped "+stage
	}
	first := shown[0]
	if first.file != nil {
		f.in(first.file)
	}
	f.At, f.Measured = new(first.At), new(float64(len(sure)))
	f.includes(float64(len(losses)))
	f.Message = j.ofAllFiles(len(shown)) + " " + text
	nameless := func(l loss) bool { return l.name() == "" }
	switch name := first.name(); {
	case slices.ContainsFunc(shown, nameless):
		f.Message = fmt.Sprintf("the pipeline %s %s; the log does not name the files", text,
			times(len(shown)))
	case len(shown) == 1:
		f.Message += ": " + name
	default:
		f.Message += ", first " + name
	}
	if f.Verdict == Undecided {
		f.Message += "; the log does not say why: no reason in the line, and no failed allocation or " +
			"fallback before it in the file"
		return f
	}
	starved := 0
	for i := range sure {
		if sure[i].starved() {
			starved++
		}
	}
	switch {
	case starved == len(sure) && starved == 1:
		f.Message += "; memory ran out in it"
	case starved == len(sure):
		f.Message += "; memory ran out in each of them"
	case starved > 0:
		f.Message += fmt.Sprintf("; memory ran out in %d of them", starved)
	}
	if len(sure) == 1 {
		f.Message += "; its result lacks it, even if the file ended ok"
	} else {
		f.Message += "; their results lack it, even where the files ended ok"
	}
	if n := len(losses) - len(sure); n > 0 {
		f.Message += fmt.Sprintf("; %s skipped it, and the log does not say why", Plural(n, "other file"))
	}
	return f
}

// times returns how often something happened: "once", "3 times".
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// ofAllFiles returns a number of files for a message: "3 of 60 files". If the log does not say how
// many files it has, it returns "3 files".
func (j *Judge) ofAllFiles(n int) string {
	if all := len(j.tl.LastAttempts()); all >= n && all > 0 {
		if all == 1 {
			return "the file"
		}
		return fmt.Sprintf("%d of %d files", n, all)
	}
	return Plural(n, "file")
}
