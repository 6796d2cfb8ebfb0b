package failure

import (
	"bytes"
	"regexp"

	"vramsoak/parser/lex"
	"vramsoak/parser/scan"
)

// A kill is a line in which the kernel, a scheduler, a container runtime or a launcher says that a
// process was killed or crashed. Most of these processes used up host memory, not device memory.
type kill struct {
	needle string
	before func() *regexp.Regexp // matches the words before the needle; nil if any may precede
	after  func() *regexp.Regexp // matches the text from the needle on
	// inTraceback is set if the line may end a traceback. The traceback then has the record.
	inTraceback bool
}

// kills are such lines:
//
//	Out of memory: Kill process 4711 (python) score 912 or sacrifice child         Linux before 5.2
//	python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, ...            Linux
//	srun: error: n1: task 0: Out Of Memory                                         Slurm
//	slurmstepd: error: Exceeded job memory limit at some point.                    Slurm
//	      Reason:       OOMKilled                                                  kubectl describe
//	worker-1 exited with code 137                                                  docker compose
//	Command terminated by signal 9                                                 GNU time
//	... 10 Workers (tasks / actors) killed due to memory pressure (OOM), ...       Ray
//	RuntimeError: DataLoader worker (pid 4711) is killed by signal: Killed.        PyTorch
//	... failed (exitcode: -9) local_rank: 0 (pid: 4712) of binary: ...             torchrun
var kills = []kill{
	{
		needle: "Kill process ", before: lex.Expression(`ut of memory: $`),
		after: lex.Expression(`^Kill process \d+ \(`),
	},
	{needle: " invoked oom-killer: ", after: lex.Expression(`^ invoked oom-killer: gfp_mask=`)},
	{
		needle: ": Out Of Memory",
		before: lex.Expression(`(?:^|\s)srun: error: [^\s:]+: tasks? [\d,-]+$`),
		after:  lex.Expression(`^: Out Of Memory\s*$`),
	},
	{
		needle: "mory limit",
		before: lex.Expression(`(?:^|\s)slurmstepd: error: .{0,64}[Ee]xceeded(?: job| step)? me$`),
		after:  lex.Expression(`^mory limit (?:at some point|\(.*being killed)`),
	},
	{
		needle: "OOMKilled",
		before: lex.Expression(`(?:(?:^|[\s"{,])[Rr]eason"?: *"?|\s\d+/\d+ +)$`),
		after:  lex.Expression(`^OOMKilled(?:["\s,(}]|$)`),
	},
	{needle: `"OOMKilled": `, after: lex.Expression(`^"OOMKilled": true\b`)}, // docker inspect
	{
		needle: "exited with code 13",
		before: lex.Expression(`^(?:[\w.-]+|[Cc]ontainer \S+|[Pp]rocess(?: \d+)?) $`),
		after:  lex.Expression(`^exited with code 13[479]\.?\s*$`),
	},
	{
		needle: "exit code 13",
		before: lex.Expression(`(?:ERROR: Job failed: |command terminated with |` +
			`^Process completed with |##\[error\]Process completed with )$`),
		after: lex.Expression(`^exit code 13[479]\.?\s*$`),
	},
	{
		needle: "Command terminated by signal ", before: lex.Expression(`^$`),
		after: lex.Expression(`^Command terminated by signal (?:4|6|7|8|9|11)\s*$`),
	},
	{
		needle: "killed due to memory pressure (OOM)",
		before: lex.Expression(`(?:^|\D)[1-9]\d* Workers \(tasks / actors\) $`),
		after:  lex.Expression(`^`),
	},
	{
		needle: "killed due to the node running low on memory", inTraceback: true,
		before: lex.Expression(`(?:Task was|worker\(s\) were) $`), after: lex.Expression(`^`),
	},
	{
		needle: "is killed by signal: ", inTraceback: true,
		before: lex.Expression(`DataLoader worker \(pid\(?s?\)? [\d, ]+\) $`), after: lex.Expression(`^`),
	},
	{
		needle: "died with <Signals.SIG", inTraceback: true,
		before: lex.Expression(`CalledProcessError: Command .*$`),
		after:  lex.Expression(`^died with <Signals\.SIG(?:KILL|SEGV|ABRT|BUS|ILL|FPE): \d+>`),
	},
	{
		needle: "failed (exitcode: ",
		after:  lex.Expression(`^failed \(exitcode: -\d+\) local_rank: \d+ \(pid: \d+\)`),
	},
}

// needlesOfKills returns the needles of kills.
func needlesOfKills() (needles []string) {
	for _, k := range kills {
		needles = append(needles, k.needle)
	}
	return needles
}

// isKill reports whether the line is one of kills, with its needle at the offset `at`.
func isKill(l *scan.Line, at int) bool {
	for i := range kills {
		k := &kills[i]
		if !bytes.HasPrefix(l.Text[at:], []byte(k.needle)) {
			continue
		}
		if IsTranscript(l.Text[:at]) || l.Head(at).InSource() ||
			!k.after().Match(lex.FirstBytes(l.Text[at:], shapeMax)) ||
			k.before != nil && !k.before().Match(lex.LastBytes(wordsBefore(l, at), shapeMax)) {
			return false
		}
		if k.inTraceback {
			if above, _ := l.TracebackAbove(); above > 0 {
				return false
			}
		}
		return true
	}
	return false
}
