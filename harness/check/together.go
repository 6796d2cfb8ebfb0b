package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"vramsoak/harness/shape"
)

// A grownLedger is a finding that a ledger grows.
type grownLedger struct {
	of   *Ledger
	lane *lane // nil for a ledger of the machine
	w    worstProcess
}

// addGrowth adds the finding on a ledger. A finding that fails waits for [Judge.together]. The
// others do not wait, because a log may have 20,000 ranks.
func (j *Judge) addGrowth(g grownLedger) {
	j.settle(&g.w)
	if g.w.finding.Verdict == Fail && g.w.of != nil {
		j.growths = append(j.growths, g)
	} else {
		j.add(g.of.advise(g.w.finding))
	}
}

// togetherWithin is how many files apart two ledgers may begin to grow to count as growing
// together.
const togetherWithin = 2

// together adds the findings on growth. Ledgers that grow together have one cause, so they get
// one finding:
//
//	host memory and file descriptors grow together from file 21 (0021.wav), in Diarization: ...
//
// Ledgers grow together if they grow in the same process from about the same file on. A ledger of
// one device never joins that of another device. A ledger of the machine joins that of a device
// only if no other device grows.
func (j *Judge) together() {
	var groups [][]*grownLedger
	for i := range j.growths {
		g := &j.growths[i]
		at := slices.IndexFunc(groups, func(group []*grownLedger) bool { return j.joins(group, g) })
		if at >= 0 {
			groups[at] = append(groups[at], g)
		} else {
			groups = append(groups, []*grownLedger{g})
		}
	}
	for _, group := range groups {
		f := j.joined(group)
		f.causeInput = &causeInput{growth: group[0]}
		j.add(f)
	}
}

// joins reports whether the ledger g grows together with those of a group.
func (j *Judge) joins(group []*grownLedger, g *grownLedger) bool {
	first := group[0]
	if j.waives(first) || j.waives(g) {
		return false // a waiver covers one ledger, and must not hide another
	}
	if first.w.of.process != g.w.of.process {
		return false
	}
	if g.lane != first.lane && (g.lane != nil || j.growing(first.lane)) {
		return false
	}
	fromA, toA := first.begins()
	fromB, toB := g.begins()
	return fromA <= toB+togetherWithin && fromB <= toA+togetherWithin
}

// waives reports whether a waiver of the policy names the check of a ledger.
func (j *Judge) waives(g *grownLedger) bool {
	return slices.ContainsFunc(j.policy.Waive, func(w WaivePolicy) bool {
		return w.Check == g.of.Check
	})
}

// growing reports whether a ledger of a device other than that of the lane grows too.
func (j *Judge) growing(l *lane) bool {
	return slices.ContainsFunc(j.growths, func(g grownLedger) bool {
		return g.lane != nil && g.lane != l
	})
}

// begins returns the first and the last file at which the growth may have begun, as indices in
// Timeline.Files. Growth that a warm-up, a step or a sawtooth hides may have begun at any file
// before.
func (g *grownLedger) begins() (from, to int32) {
	from, to = g.w.of.files[0], g.firstFile()
	if g.w.result.Shape == shape.Flat {
		from = to
	}
	return from, to
}

// firstFile returns the index in Timeline.Files of the first file with a higher level.
func (g *grownLedger) firstFile() int32 { return g.w.of.files[g.w.from()] }

// joined returns the finding on a group of ledgers. It is that of the first ledger whose check
// gates.
func (j *Judge) joined(group []*grownLedger) Finding {
	slices.SortStableFunc(group, func(a, b *grownLedger) int {
		return cmp.Compare(j.rank(a), j.rank(b))
	})
	first := group[0]
	f := first.of.advise(first.w.finding)
	if len(group) == 1 {
		return f
	}
	var names, others []string
	for _, g := range group {
		other := g.w.finding
		names = append(names, other.Subject)
		if g != first {
			others = append(others, other.Subject+" by "+other.rate)
			if other.Check != f.Check && !slices.Contains(f.Also, other.Check) {
				f.Also = append(f.Also, other.Check)
			}
		}
		f.Stage = cmp.Or(f.Stage, other.Stage)
	}
	where := j.since(group)
	if f.Stage != "" {
		where += ", in " + f.Stage
	}
	f.Message = fmt.Sprintf("%s grow together %s: %s; %s", listed(names), where,
		Sentence(f.Subject, f.Message), strings.Join(others, ", "))
	return f
}

// Sentence puts a subject before a message that begins with "grows by". Some subjects are plural:
// file descriptors.
func Sentence(subject, message string) string {
	if strings.HasSuffix(subject, "s") {
		message = strings.Replace(message, "grows by", "grow by", 1)
	}
	return subject + " " + message
}

// since returns from which file on the ledgers of a group grow, in words. If a ledger says for
// certain where the growth began, that counts. Otherwise the words agree with the finding of the
// first ledger.
func (j *Judge) since(group []*grownLedger) string {
	w := &group[0].w
	first, at := w.of.files[0], w.of.files[w.begins()]
	for _, g := range group {
		if from, to := g.begins(); from == to && from > first {
			at = from
			break
		}
	}
	if at == first {
		return "from the first file on"
	}
	return "from " + fileName(j.tl.Files[at]) + " on"
}

// rank orders the ledgers of a group: those that gate come first.
func (j *Judge) rank(g *grownLedger) int {
	if slices.Contains(j.policy.Gate, g.of.Check) {
		return 0
	}
	return 1
}

// listed returns names as a sentence has them: "a", "a and b", "a, b and c".
func listed(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
