package merge

import (
	"fmt"
	"regexp"
	"strings"

	"vramsoak/harness/check"
)

// Shards is the subject of the finding that every shard is complete.
const Shards = "shards"

// A shardsFinding is the finding on shards that are not complete.
type shardsFinding struct {
	check.Finding
	which string // their numbers
}

// shardsFinding returns the finding on shards that never started or were cut short, or nil if all
// are complete.
func (m *merger) shardsFinding(missing *ranges) *shardsFinding {
	if missing.count+m.incomplete.count == 0 {
		return nil
	}
	var said, which []string
	if missing.count > 0 {
		said = append(said, missing.named("shard")+" never started, or the logs are not here")
		which = append(which, missing.String())
	}
	if m.incomplete.count > 0 {
		was := "were"
		if m.incomplete.count == 1 {
			was = "was"
		}
		said = append(said, fmt.Sprintf("%s %s cut short", m.incomplete.named("shard"), was))
		which = append(which, m.incomplete.String())
	}
	f := check.Finding{
		Check: check.Completeness, Verdict: check.Fail, Subject: Shards, Unit: check.Count,
		Measured: new(float64(missing.count + m.incomplete.count)), Limit: new(0.0),
		Message: fmt.Sprintf("%s; %d of %d shards are complete; start the tasks of the others again, "+
			"unless they still run: a task goes on where its log ends", strings.Join(said, ", and "),
			m.begun.count-m.incomplete.count, m.shards),
	}
	return &shardsFinding{f, strings.Join(which, "; ")}
}

// filesEnded collects which files of the batch have ended.
type filesEnded struct {
	of        int // files in the whole batch; 0 where unknown
	ended     places
	twice     places
	beyond    places // that the batch does not have
	failed    int
	failedIn  ranges
	unstarted int // by --fail-fast
	worst     *check.Finding
	worstBad  int  // files that failed in the shard of worst
	fed       bool // the harness fed files
	skipped   *check.Finding
}

// add takes the finding of a shard on its files.
func (e *filesEnded) add(f *check.Finding, s *judgedShard) {
	f.Shard, f.Node = s.number, s.node
	if f.Verdict == check.Skipped {
		e.skipped = f
		return
	}
	e.fed = true
	if s.failed > e.worstBad {
		e.worst, e.worstBad = f, s.failed
	}
}

// noteEnded notes the files of a shard that ended.
func (e *filesEnded) noteEnded(s *judgedShard) {
	for _, place := range s.ended {
		switch {
		case e.of > 0 && place > e.of:
			e.beyond.add(place)
		case e.ended.add(place):
			e.twice.add(place)
		}
	}
	if e.failed += s.failed; s.failed > 0 {
		e.failedIn.add(s.number)
	}
	if s.early {
		e.unstarted += s.unstarted
	}
}

// finding returns the finding that every file of the batch ended ok, once. The parameter shards is
// the finding on incomplete shards, or nil, and judged the number of shards with a log.
func (e *filesEnded) finding(shards *shardsFinding, judged int) *check.Finding {
	if !e.fed && e.ended.count == 0 {
		return e.skipped
	}
	missing := e.ended.missing(e.of)
	f := check.Finding{
		Check: check.Completeness, Subject: check.Files, Unit: check.Count, Limit: new(0.0),
	}
	var said []string
	if e.failed > 0 {
		f = *e.worst
		what := endedOK.ReplaceAllString(e.worst.Message, "")
		if e.failedIn.count > 1 {
			what = fmt.Sprintf("%s of %s did not end ok; shard %d: %s",
				check.Plural(e.failed, "file"), e.failedIn.named("shard"), e.worst.Shard, what)
		}
		f.InShards = e.failedIn.count
		said = append(said, what)
	}
	early := missing.count > 0 && missing.count == e.unstarted
	if missing.count > 0 {
		have := "have no end"
		switch {
		case early:
			have = "never started, because --fail-fast ended their shards early"
		case missing.count == 1:
			have = "has no end"
		}
		which := fmt.Sprintf("%d files (%s)", missing.count, missing.String())
		if missing.count == 1 {
			which = missing.named("file")
		}
		said = append(said, which+" "+have)
	}
	if e.twice.count > 0 {
		which := e.twice.listed()
		said = append(said, fmt.Sprintf("%s done by several shards (%s)",
			were(e.twice.count, "file"), which.String()))
	}
	if e.beyond.count > 0 {
		which := e.beyond.listed()
		said = append(said, fmt.Sprintf("%s not of the batch (%s), which has %d",
			are(e.beyond.count, "file"), which.String(), e.of))
	}
	f.Measured = new(float64(e.failed + missing.count + e.twice.count + e.beyond.count))
	ok := e.ended.count - e.failed
	switch {
	case len(said) == 0 && e.of == 0:
		f.Verdict = check.Pass
		f.Message = fmt.Sprintf("all %d files ended ok", ok)
	case len(said) == 0:
		f.Verdict = check.Pass
		f.Message = fmt.Sprintf("all %d files ended ok, each once, in %s", e.of,
			check.Plural(judged, "shard"))
	case early && len(said) == 1:
		f.Verdict = check.Undecided
		f.Message = fmt.Sprintf("%s; all %d others ended ok", said[0], ok)
	default:
		f.Verdict = check.Fail
		f.Message = strings.Join(said, "; ")
		if e.of > 0 {
			f.Message += fmt.Sprintf("; %d of %d files ended ok", ok, e.of)
		}
	}
	if shards != nil && e.failed+e.twice.count+e.beyond.count == 0 && f.Verdict == check.Fail {
		f.Follows(&shards.Finding)
	}
	return &f
}

// endedOK matches the part of a shard's finding that counts only the shard's files.
var endedOK = regexp.MustCompile(`; \d+ of \d+ files ended ok.*`)

func were(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " was"
	}
	return check.Plural(n, noun) + " were"
}

func are(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " is"
	}
	return check.Plural(n, noun) + " are"
}
