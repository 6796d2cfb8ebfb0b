package check_test

import (
	"bytes"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"vramsoak/fixtures/wrapper"
	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

var mutateAll = flag.Bool("mutate.all", false, "try every log with every wrapper and every fault")

// A program is a file of fixtures/batches: what a program prints at its start (head), for each file
// or step (file), and when an allocation fails (failure). In the lines of a file, {busy GiB 2}
// stands for the memory that the program holds in the middle of a file, in GiB with two decimals;
// idle is what it holds between two files, rest what its cleanup leaves, and total the size of the
// card. {idle.reserved MiB 0} is what its allocator holds then, .used what the driver counts, .free
// the rest of the card, .percent the part of the card. {n} is the file's number. "after> " marks
// the line that ends a cleanup.
type program struct {
	name                string
	head, file, failure []string
	never               string // why a clean log of the program never passes, or ""
}

// batchFiles is the number of files of a batch, and mutatedFile the file in which a fault lies.
const (
	batchFiles  = 60
	mutatedFile = 30
	cardBytes   = 24 << 30
)

// levels holds what a program holds of the card in one file, in bytes.
type levels struct {
	idle, busy, rest int64
	more             int64 // how much idle is above that of the file before
}

// cleanLevels are the levels of a program that gives everything back.
func cleanLevels(int) levels { return levels{idle: 256 << 20, busy: 9 << 30, rest: 256 << 20} }

var placeholder = regexp.MustCompile(`\{([a-z]+)(?:\.([a-z]+))?(?: ([A-Za-z]+) (\d)(e?))?\}`)

// print returns the line of a program in the file number n, from 1.
func (l levels) print(line string, n int) string {
	return placeholder.ReplaceAllStringFunc(line, func(p string) string {
		m := placeholder.FindStringSubmatch(p)
		bytes := map[string]int64{
			"idle": l.idle, "busy": l.busy, "rest": l.rest, "total": cardBytes,
		}[m[1]]
		reserved := min(cardBytes-64<<20, bytes+512<<20)
		switch m[2] {
		case "reserved":
			bytes = reserved
		case "used":
			bytes = min(cardBytes, reserved+32<<20)
		case "free":
			bytes = cardBytes - min(cardBytes, reserved+32<<20)
		case "more":
			bytes = l.more
		case "percent":
			return strconv.FormatFloat(100*float64(bytes)/cardBytes, 'f', 1, 64)
		}
		if m[1] == "n" {
			return strconv.Itoa(n)
		}
		unit := map[string]float64{
			"B": 1, "MiB": 1 << 20, "GiB": 1 << 30, "MB": 1e6, "GB": 1e9,
		}[m[3]]
		if unit == 0 {
			return p // braces of the program's own
		}
		decimals, _ := strconv.Atoi(m[4]) // the expression matches a digit
		form := byte('f')
		if m[5] != "" {
			form = 'e'
		}
		return strconv.FormatFloat(float64(bytes)/unit, form, decimals, 64)
	})
}

// programs returns the programs of fixtures/batches.
func programs(t *testing.T) (all []program) {
	t.Helper()
	paths, err := filepath.Glob("../../fixtures/batches/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		p := program{name: strings.TrimSuffix(filepath.Base(path), ".txtar")}
		for _, f := range archive.Files {
			lines := strings.Split(strings.TrimSuffix(string(f.Data), "\n"), "\n")
			switch f.Name {
			case "head":
				p.head = lines
			case "file":
				p.file = lines
			case "failure":
				p.failure = lines
			case "never passes":
				p.never = lines[0]
			default:
				t.Fatalf("%s: expected head, file or failure, found %s", path, f.Name)
			}
		}
		if !strings.Contains(strings.Join(append(p.head, p.file...), "\n"), "{total") {
			p.head = append([]string{
				"|   0  NVIDIA GeForce RTX 3090   On  |   00000000:01:00.0 Off |                  N/A |",
				"|  0%   35C    P8    20W / 350W |       1MiB / 24576MiB |      0%      Default |",
			}, p.head...)
		}
		all = append(all, p)
	}
	return all
}

// A mutation changes what a program prints.
type mutation struct {
	levels func(n int) levels
	// lines, if it is set, replaces the lines of the file number n.
	lines func(p *program, n int, lines []string) []string
}

// print returns the lines of a batch.
func (p *program) print(m mutation) (lines []string) {
	for _, line := range p.head {
		lines = append(lines, cleanLevels(0).print(line, 0))
	}
	for n := 1; n <= batchFiles; n++ {
		file := p.file
		if m.lines != nil {
			file = m.lines(p, n, file)
		}
		for _, line := range file {
			lines = append(lines, m.levels(n).print(strings.TrimPrefix(line, "after> "), n))
		}
	}
	return lines
}

// A fault is one thing that goes wrong in a batch.
type fault struct {
	name string
	mutation
	// cannot returns why a program cannot have the fault, or "".
	cannot func(p *program, facts facts) string
}

// facts say what the clean batch of a program gives.
type facts struct {
	level, current, pairs, sampled bool
}

func factsOf(tl *timeline.Timeline) (f facts) {
	f.sampled = true
	for _, c := range tl.All() {
		own := c.Has(record.Allocated) || c.Has(record.Used) && c.Bytes(record.Used) > 64<<20 ||
			c.Has(record.Reserved)
		f.current = f.current || own
		f.level = f.level || own || c.Has(record.Peak) || c.Has(record.PeakReserved)
		f.sampled = f.sampled && c.Sampled
	}
	for _, file := range tl.Files {
		f.pairs = f.pairs || len(file.Cleanups) > 0
	}
	return f
}

// inOneFile returns levels that a function changes in one file, and in no other.
func inOneFile(change func(l *levels)) func(n int) levels {
	return func(n int) levels {
		l := cleanLevels(n)
		if n == mutatedFile {
			change(&l)
		}
		return l
	}
}

// grows returns levels that grow by 4 MiB from file to file.
func grows(n int) levels {
	l, more := cleanLevels(n), int64(n)*4<<20
	return levels{l.idle + more, l.busy + more, l.rest + more, 4 << 20}
}

// insert returns a mutation that prints lines in the middle of one file.
func insert(lines func(p *program) []string) mutation {
	return mutation{cleanLevels, func(p *program, n int, file []string) []string {
		if n != mutatedFile {
			return file
		}
		return slices.Concat(file, lines(p))
	}}
}

const onlyMaximum = "it prints no current level: only a maximum, a part of the memory, or what " +
	"is free"

var faults = []fault{
	{
		name:     "its own out-of-memory message",
		mutation: insert(func(p *program) []string { return p.failure }),
	},
	{
		name: "a file marked failed",
		mutation: insert(func(*program) []string {
			return []string{"[pipeline] file-end path=0030.wav status=failed"}
		}),
	},
	{
		name:     "a level raised to 97 % of the card",
		mutation: mutation{levels: inOneFile(func(l *levels) { l.busy = cardBytes / 100 * 97 })},
		cannot: func(p *program, f facts) string {
			if !f.level {
				return "it prints no level"
			}
			if !strings.Contains(strings.Join(p.file, "\n"), "{busy") {
				return "it prints no level while it works"
			}
			return ""
		},
	},
	{
		name: "an After removed",
		mutation: mutation{cleanLevels, func(_ *program, n int, file []string) []string {
			if n != mutatedFile {
				return file
			}
			return slices.DeleteFunc(slices.Clone(file), func(line string) bool {
				return strings.HasPrefix(line, "after> ")
			})
		}},
		cannot: needsPairs,
	},
	{
		name: "a cleanup that frees half",
		mutation: mutation{levels: inOneFile(func(l *levels) {
			l.rest = l.idle + (l.busy-l.idle)/2
		})},
		cannot: needsPairs,
	},
	{
		name: leakOverFiles, mutation: mutation{levels: grows},
		cannot: func(_ *program, f facts) string {
			switch {
			case !f.current:
				return onlyMaximum
			case f.sampled:
				return "its readings are sampled: see the growth in these"
			}
			return ""
		},
	},
	{
		name: leakOverReadings, mutation: mutation{levels: grows},
		cannot: func(_ *program, f facts) string {
			switch {
			case !f.sampled:
				return "its readings are not sampled"
			case !f.current:
				return onlyMaximum
			}
			return ""
		},
	},
}

const (
	leakOverFiles    = "a leak of 4 MiB a file"
	leakOverReadings = "growth in sampled readings"
)

// leakName returns the name of the leak that a program can have.
func leakName(f facts) string {
	if f.sampled {
		return leakOverReadings
	}
	return leakOverFiles
}

func needsPairs(_ *program, f facts) string {
	if !f.pairs {
		return "it prints no cleanup"
	}
	return ""
}

// wrapAll returns the log of several ranks in a wrapper. The lines come in turns.
func wrapAll(w *wrapper.Wrapper, ranks ...[]string) []byte {
	var b bytes.Buffer
	at, most := time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC), 0
	for _, lines := range ranks {
		most = max(most, len(lines))
	}
	for n := range most {
		for rank, lines := range ranks {
			if n >= len(lines) {
				continue
			}
			line := lines[n]
			if at = at.Add(time.Millisecond); w.Line != nil {
				line = w.Line(line, n, at, rank)
			}
			b.WriteString(line + "\n")
		}
	}
	if w.Log != nil {
		return w.Log(b.Bytes())
	}
	return b.Bytes()
}

// verdict returns the verdict on a log.
func verdict(t *testing.T, w *wrapper.Wrapper, log []byte) (*timeline.Timeline, *check.Report) {
	t.Helper()
	if w.Log != nil { // it may be compressed
		return judged(t, log)
	}
	b := &parser.Builder{}
	if err := b.Read(bytes.NewReader(log), "run.log"); err != nil {
		t.Fatal(err)
	}
	tl := b.Timeline()
	return tl, check.Of(tl, check.DefaultPolicy())
}

// An injections value counts the logs and wrappers that a fault was injected into, and the reasons
// why not.
type injections struct {
	sync.Mutex
	injected map[string]map[string]int // for each fault, the wrappers of each program
	wrappers map[string]map[string]int // for each fault, the programs in each wrapper
	left     map[string][]string       // for each fault, the programs that it does not fit, and why
}

func (c *injections) add(fault, program, wrapper string) {
	c.Lock()
	defer c.Unlock()
	if c.injected[fault] == nil {
		c.injected[fault], c.wrappers[fault] = map[string]int{}, map[string]int{}
	}
	c.injected[fault][program]++
	c.wrappers[fault][wrapper]++
}

func (c *injections) leave(fault, program, why string) {
	c.Lock()
	defer c.Unlock()
	c.left[fault] = append(c.left[fault], program+": "+why)
}

// report prints the counts. It fails if a fault was injected into fewer of the things that the
// parameter into names, or, with -mutate.all, into fewer wrappers than there are.
func (c *injections) report(t *testing.T, into string, least map[string]int) {
	for _, fault := range slices.Sorted(maps.Keys(least)) {
		logs := 0
		for _, n := range c.injected[fault] {
			logs += n
		}
		t.Logf("%s: injected into %d %s and %d wrappers: %d logs", fault, len(c.injected[fault]), into,
			len(c.wrappers[fault]), logs)
		for _, why := range slices.Sorted(slices.Values(c.left[fault])) {
			t.Logf("    not into %s", why)
		}
		if got := len(c.injected[fault]); got < least[fault] {
			t.Errorf("%s: injected into %d %s, expected at least %d", fault, got, into, least[fault])
		}
		wrappers := 0
		for i := range wrapper.All {
			if fault != twoRanks || wrapper.All[i].Ranked {
				wrappers++
			}
		}
		if got := len(c.wrappers[fault]); *mutateAll && got < wrappers {
			t.Errorf("%s: injected into %d wrappers, expected %d", fault, got, wrappers)
		}
	}
}

// chosen reports whether a case belongs to the sample that the test tries without -mutate.all.
func chosen(parts ...string) bool {
	h := fnv.New32a()
	for _, p := range parts {
		_, _ = h.Write([]byte(p)) // never fails
	}
	return *mutateAll || h.Sum32()%sample == 0
}

// sample is the part of the product that is tried without -mutate.all: 1/sample.
const sample = 8

// TestMutatedBatches: one fault at a time is injected into the batch of each program, in each
// wrapper. No such log may pass, and no wrapper may change the verdict: if the log fails without a
// wrapper, it fails in each. Without a fault, each log passes in each wrapper, and each check has
// the same verdict as without one.
func TestMutatedBatches(t *testing.T) {
	counts := &injections{
		injected: map[string]map[string]int{}, wrappers: map[string]map[string]int{},
		left: map[string][]string{},
	}
	t.Run("programs", func(t *testing.T) {
		for _, p := range programs(t) {
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				mutate(t, &p, counts)
			})
		}
	})
	counts.report(t, "programs", applicable(programs(t)))
}

// Of the programs of fixtures/batches, noLevel print no level, and noCurrent print no current one:
// only a maximum, a part of the memory, or what is free. inFiles print no cleanup, but each of
// their readings belongs to a file.
const (
	noLevel   = "ggml ollama sglang vllm"
	noCurrent = noLevel + " axolotl detectron2 detr fairseq jepa mlx-lm ms-swift nanogpt openmmlab " +
		"slowfast swin torchtitan torchtune unsloth verl yolox"
	inFiles = "long-batch peft"
)

// applicable returns for each fault the number of programs that can have it, from the text of
// fixtures/batches and the lists above. So a program whose lines are no longer read fails the test.
func applicable(all []program) map[string]int {
	n := map[string]int{}
	for _, p := range all {
		if p.never != "" {
			continue
		}
		count := func(fault string, can bool) {
			if can {
				n[fault]++
			}
		}
		isIn := func(list string) bool { return slices.Contains(strings.Fields(list), p.name) }
		file := strings.Join(p.file, "\n")
		cleans := strings.Contains(file, "after> ")
		count(faults[0].name, true)
		count(faults[1].name, true)
		count(faults[2].name, !isIn(noLevel) && strings.Contains(file, "{busy"))
		count(faults[3].name, cleans)
		count(faults[4].name, cleans)
		count(leakOverFiles, cleans || isIn(inFiles))
		count(leakOverReadings, !isIn(noCurrent) && !cleans && !isIn(inFiles))
		count(twoRanks, !isIn(noCurrent))
	}
	return n
}

const twoRanks = "two ranks of which one leaks"

// mutate tries the wrappers and faults of one program.
func mutate(t *testing.T, p *program, counts *injections) {
	clean := p.print(mutation{levels: cleanLevels})
	tl, report := verdict(t, &wrapper.All[0], wrapAll(&wrapper.All[0], clean))
	f, want := factsOf(tl), judgement(tl, report)
	if p.never == "" && report.Verdict != check.Pass {
		t.Errorf("%s: the clean batch is %s: %s", p.name, report.Verdict, firstOf(report, report.Verdict))
		return
	}
	if p.never != "" {
		for _, f := range faults {
			counts.leave(f.name, p.name, p.never)
		}
	}
	plain := map[string]check.Verdict{} // of each fault, in the log without a wrapper
	for i := range wrapper.All {
		w := &wrapper.All[i]
		if w.Inside && p.name == "rmm" {
			continue // RMM's CSV is a file, and no program logs it
		}
		if chosen(p.name, w.Name) {
			if diff := cmp.Diff(want, judgement(verdict(t, w, wrapAll(w, clean)))); diff != "" {
				t.Errorf("%s: %s: the clean batch is judged otherwise (-want +got):\n%s", p.name, w.Name, diff)
			}
		}
		if p.never != "" {
			continue
		}
		for _, fault := range faults {
			if fault.cannot != nil && fault.cannot(p, f) != "" {
				if i == 0 {
					counts.leave(fault.name, p.name, fault.cannot(p, f))
				}
				continue
			}
			if i > 0 && !chosen(p.name, w.Name, fault.name) {
				continue
			}
			counts.add(fault.name, p.name, w.Name)
			log := wrapAll(w, p.print(fault.mutation))
			_, report := verdict(t, w, log)
			if i == 0 {
				plain[fault.name] = report.Verdict
			}
			if want := plain[fault.name]; report.Verdict == check.Pass || report.Verdict != want {
				t.Errorf("%s: %s: %s: got %s, and %s without a wrapper: %s", p.name, w.Name, fault.name,
					report.Verdict, want, firstOf(report, report.Verdict))
			}
		}
		if !w.Ranked || !f.current {
			if i == 0 && !f.current {
				counts.leave(twoRanks, p.name, onlyMaximum)
			}
			continue
		}
		if w.Name == "torch.distributed" || chosen(p.name, w.Name, twoRanks) {
			counts.add(twoRanks, p.name, w.Name)
			log := wrapAll(w, clean, p.print(mutation{levels: grows}))
			_, report := verdict(t, w, log)
			if want := plain[leakName(f)]; report.Verdict == check.Pass || report.Verdict != want {
				t.Errorf("%s: %s: %s: got %s, and %s for the rank that leaks alone: %s", p.name, w.Name,
					twoRanks, report.Verdict, want, firstOf(report, report.Verdict))
			}
		}
	}
}

// judgement returns the verdict on a log, what was read, and the verdicts of each check on it.
func judgement(tl *timeline.Timeline, r *check.Report) []string {
	list := []string{
		fmt.Sprintf("%s: %d readings, %d failures, %d files", r.Verdict, tl.Checkpoints, tl.Failures,
			len(tl.Files)),
	}
	for _, f := range r.Findings {
		// The times of a wrapper decide how long a file took. A second process that a wrapper names
		// may only have checks that are skipped.
		if f.Check != check.Throughput && f.Verdict != check.Skipped {
			list = append(list, f.Check+": "+string(f.Verdict))
		}
	}
	slices.Sort(list[1:])
	return slices.Compact(list)
}

// firstOf returns the first finding of a report with a verdict, as text.
func firstOf(r *check.Report, verdict check.Verdict) string {
	for _, f := range r.Findings {
		if f.Verdict == verdict && verdict != check.Pass {
			return fmt.Sprintf("%s, %s: %s", f.Check, f.Subject, f.Message)
		}
	}
	return ""
}

// allocatorMessage is PyTorch's message for an allocation that failed.
const allocatorMessage = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate " +
	"2.00 GiB. GPU 0 has a total capacity of 24.00 GiB of which 1.20 GiB is free."

// TestMutatedFixtures: into each log of fixtures/ that passes, in each wrapper, the message of a
// failed allocation is inserted, or a file is marked as failed. No such log may pass, and no
// wrapper may change its verdict.
func TestMutatedFixtures(t *testing.T) {
	counts := &injections{
		injected: map[string]map[string]int{}, wrappers: map[string]map[string]int{},
		left: map[string][]string{},
	}
	t.Run("logs", func(t *testing.T) {
		for _, log := range fixtureLogs(t) {
			t.Run(log.name, func(t *testing.T) {
				t.Parallel()
				log.mutate(t, counts)
			})
		}
	})
	t.Logf("%d logs do not pass as they are", len(counts.left[""]))
	// 55 and 79 logs when this was written. A fixture that no longer passes is left out, which
	// other tests notice; so these numbers only show that most of the logs were tried.
	counts.report(t, "logs that pass", map[string]int{faults[0].name: 40, faults[1].name: 70})
}

func (l *fixtureLog) mutate(t *testing.T, counts *injections) {
	if _, report := judged(t, l.text); report.Verdict != check.Pass {
		counts.leave("", l.name, string(report.Verdict))
		return
	}
	lines := bytes.SplitAfter(bytes.TrimSuffix(l.text, []byte("\n")), []byte("\n"))
	// The last line of the pipeline in the first half, so that work follows the fault.
	at := len(lines) / 2
	for at > 0 && bytes.HasPrefix(lines[at], []byte("[vramsoak]")) {
		at--
	}
	if last := lines[at]; !bytes.HasSuffix(last, []byte("\n")) {
		lines[at] = append(slices.Clip(last), '\n')
	}
	inserted := func(line string) []byte {
		return bytes.Join(slices.Insert(slices.Clone(lines), at+1, []byte(line+"\n")), nil)
	}
	failedFile := inserted("[pipeline] file-end path=0030.wav status=failed")
	if i := bytes.LastIndex(l.text, []byte("status=ok")); l.soak() && i >= 0 {
		failedFile = slices.Concat(l.text[:i], []byte("status=failed"), l.text[i+len("status=ok"):])
	}
	for _, fault := range []struct {
		name string
		log  []byte
	}{
		{faults[0].name, inserted(allocatorMessage)},
		{faults[1].name, failedFile},
	} {
		if l.soak() && fault.name == faults[0].name {
			counts.leave(fault.name, l.name,
				"its harness says that the file ended ok: the pipeline recovered")
			continue
		}
		var plain check.Verdict // without a wrapper
		for i := range wrapper.All {
			w := &wrapper.All[i]
			if l.cannot(w) != "" && !l.soak() || i > 0 && !chosen(l.name, w.Name, fault.name) {
				continue
			}
			wrapped := w.Wrap
			if l.cannot(w) != "" {
				wrapped = w.WrapPipeline
			}
			counts.add(fault.name, l.name, w.Name)
			_, report := judged(t, wrapped(fault.log))
			if i == 0 {
				plain = report.Verdict
			}
			if report.Verdict == check.Pass || report.Verdict != plain {
				t.Errorf("%s: %s: %s: got %s, and %s without a wrapper: %s", l.name, w.Name, fault.name,
					report.Verdict, plain, firstOf(report, report.Verdict))
			}
		}
	}
}
