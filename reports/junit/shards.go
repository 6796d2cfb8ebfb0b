package junit

import (
	"fmt"
	"io"

	"vramsoak/harness/check"
	"vramsoak/harness/merge"
	"vramsoak/reports/wording"
)

// WriteShards writes a judged run of many shards as JUnit XML. A suite has a test case for each
// finding, and a second one a test case for each shard. A shard fails if it is missing, was cut
// short, or has a file that did not end ok. For the cases of findings see [Write].
func WriteShards(w io.Writer, run *merge.Judged) error {
	stamp := stampOf(run.Started)
	shards := suite{Name: "vramsoak shards", Timestamp: stamp}
	gates, waived := filesGate(run.Report)
	sum := 0.0
	for _, s := range run.Shards {
		c := testCase{
			Name: fmt.Sprintf("shard %d", s.Number), Classname: "vramsoak.shard",
			Time: inSeconds(s.Seconds),
		}
		sum += s.Seconds
		switch message := shardProblem(s); {
		case message == "":
		case waived != nil:
			c.Skipped = &result{Message: message + "; " + waived.String()}
		case gates:
			c.Failure = &result{Message: message, Type: check.Completeness, Body: message}
		default:
			c.SystemOut = "does not gate: " + message
		}
		shards.add(c)
	}
	all := suites{
		Name: "vramsoak", Suites: []suite{checksSuite(run.Report, stamp), shards.done(sum)},
	}
	return all.write(w)
}

// shardProblem returns why a shard's evidence is not that of a good run, or "".
func shardProblem(s merge.State) string {
	on := ""
	if s.Node != "" {
		on = " on node " + s.Node
	}
	switch {
	case s.Name == "":
		return "never started, or its log is not here"
	case s.Failed > 0:
		return fmt.Sprintf("%s of %d did not end ok%s", wording.Plural(s.Failed, "file"), s.Files, on)
	case !s.Complete:
		return fmt.Sprintf("was cut short after %s%s", wording.Plural(s.Files, "file"), on)
	}
	return ""
}
