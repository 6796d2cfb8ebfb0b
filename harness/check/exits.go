package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// processesEnded judges whether a process failed although all of its files ended ok: a process that
// dies between two files, or hangs after its last file. If a process fails because of a file, the
// finding on files reports that. If no process and no file of the run ended well, the finding is on
// the processes.
func (j *Judge) processesEnded() {
	if len(j.tl.Exits) == 0 {
		return // a log without the harness's lines, or a run that was cut short before the first
	}
	explained := j.explainedProcesses()
	f := Finding{
		Check: Completeness, Verdict: Pass, Subject: "processes", Unit: Count, Limit: new(0.0),
	}
	var well, told, forFiles, bad []*record.Exit
	for i := range j.tl.Exits {
		switch e := &j.tl.Exits[i]; {
		case e.Reason == record.ExitInterrupted, e.Reason == record.ExitUntil,
			e.Reason == record.ExitFailFast:
			told = append(told, e)
		// A process that hung or used too much memory did not end well, even if its exit code is 0 after
		// the harness ended it.
		case e.Code == 0 && e.Signal == "" && e.Reason == record.ExitByItself:
			well = append(well, e)
		case explained[e.Process]:
			forFiles = append(forFiles, e)
		default:
			bad = append(bad, e)
		}
	}
	ok := func(f *timeline.File) bool { return f.Status == record.StatusOK }
	byHarness := func(e *record.Exit) bool { return e.Reason != record.ExitByItself }
	all := len(j.tl.Exits)
	switch {
	case len(bad) > 0:
		f.Verdict = Fail
		f.Message = j.diedAlone(&f, bad)
	case len(forFiles) == all && all > 1 &&
		!slices.ContainsFunc(j.tl.Files, ok) && !slices.ContainsFunc(forFiles, byHarness):
		f.Verdict, f.At = Fail, new(forFiles[0].Pos)
		bad = forFiles
		f.causeInput = &causeInput{cause: &Cause{Completeness, Files}}
		f.Message = j.ends(forFiles, func(n int) string {
			if n == all {
				return allProcesses(n)
			}
			return processes(n)
		}, true)
	default:
		f.Message = j.harmless(well, told, forFiles)
	}
	f.Measured = new(float64(len(bad)))
	j.add(f)
}

// explainedProcesses returns the processes whose end another finding explains: those with a file
// that did not end ok, and those of an interrupted run.
func (j *Judge) explainedProcesses() map[int]bool {
	interrupted := map[int]bool{}
	for _, run := range j.tl.Runs {
		interrupted[run.Number] = run.End != nil && run.End.Reason == record.Interrupted
	}
	explained := map[int]bool{}
	for _, f := range j.tl.Files {
		if f.Status != record.StatusOK || interrupted[f.Run] {
			explained[f.Process] = true
		}
	}
	return explained
}

// diedAlone returns the message on processes that failed although each of their files ended ok.
func (j *Judge) diedAlone(f *Finding, bad []*record.Exit) string {
	first := bad[0]
	f.At = new(first.Pos)
	after, though := "before its first file", ""
	for _, file := range j.tl.Files {
		if file.Process == first.Process {
			after, though = "after "+fileName(file), ", though each of its files ended ok"
		}
	}
	said := fmt.Sprintf("process %d %s %s%s", first.PID, howEnded(first, 1), after, though)
	if oom := j.starved(first.Process); oom != nil {
		f.At = new(oom.Pos)
		said = fmt.Sprintf("process %d ran out of memory %s and %s%s: %s",
			first.PID, after, howEnded(first, 1), though, describe(oom))
	} else if why := join(j.causeOf(first), hintOf(first)); why != "" {
		said += ": " + why
	}
	if more := bad[1:]; len(more) > 0 {
		said += "; of the others " + j.ends(more, nil, true)
	}
	return said
}

// harmless returns the message for a run in which processes failed only because of a file, or
// because the run was stopped. The parameters hold the processes that exited with code 0, that were
// told to end, and that failed because of a file.
func (j *Judge) harmless(well, told, forFiles []*record.Exit) string {
	var said []string
	all := len(well) + len(told) + len(forFiles)
	switch n := len(well); {
	case n == 0:
	case n == all && n == 1:
		said = append(said, "the process exited with code 0")
	case n == all:
		said = append(said, allProcesses(n)+" exited with code 0")
	default:
		said = append(said, fmt.Sprintf("%d of %d processes exited with code 0", n, all))
	}
	if len(forFiles) > 0 {
		reason := " on files that did not end ok"
		if len(forFiles) == 1 {
			reason = " on a file that did not end ok"
		}
		said = append(said, j.ends(forFiles, nameIf(len(well) == 0), false)+reason)
	}
	if len(told) > 0 {
		said = append(said, j.ends(told, nameIf(all == len(told)), false)+" because the run ended")
	}
	return strings.Join(said, "; ")
}

// endsMost is how many different ways to end one message names.
const endsMost = 3

// ends returns how several processes ended, in words: "3 exited with code 1 (ValueError: bad
// header) and 1 was ended by SIGSEGV". If name is not nil, it returns the words for the first
// number, such as "3 processes". Set hints to explain unusual exit codes.
func (j *Judge) ends(exits []*record.Exit, name func(n int) string, hints bool) string {
	var order []string
	same := map[string][]*record.Exit{}
	for _, e := range exits {
		key := howEnded(e, 1)
		if same[key] == nil {
			order = append(order, key)
		}
		same[key] = append(same[key], e)
	}
	if len(order) > endsMost { // name the most frequent ones
		slices.SortStableFunc(order, func(a, b string) int { return len(same[b]) - len(same[a]) })
	}
	var said []string
	for i, key := range order {
		if i == endsMost {
			rest := 0
			for _, key := range order[i:] {
				rest += len(same[key])
			}
			said = append(said, fmt.Sprintf("%d ended in other ways", rest))
			break
		}
		group := same[key]
		number := strconv.Itoa(len(group))
		if name != nil && i == 0 {
			number = name(len(group))
		}
		hint := ""
		if hints {
			hint = hintOf(group[0])
		}
		how := howEnded(group[0], len(group))
		said = append(said, number+" "+how+inBrackets(j.causes(group), hint))
	}
	if n := len(said); n > 1 {
		return strings.Join(said[:n-1], ", ") + " and " + said[n-1]
	}
	return said[0]
}

// causes returns the cause that processes with the same end printed. If their causes differ, it
// returns the first one, marked as such.
func (j *Judge) causes(exits []*record.Exit) string {
	first := j.causeOf(exits[0])
	for _, e := range exits[1:] {
		if cause := j.causeOf(e); cause != first && first != "" {
			return "the first: " + first
		}
	}
	return first
}

// causeOf returns the cause that a process printed for its end, or "" if it printed none. Logs of
// earlier versions have the cause only in file-end lines, as a [record.ProcessEnd].
func (j *Judge) causeOf(e *record.Exit) string {
	if e.Error != "" {
		return e.Error
	}
	for _, f := range slices.Backward(j.tl.Files) {
		if f.Process != e.Process {
			continue
		}
		end, ok := record.ParseProcessEnd(f.Error)
		same := end.Signal == e.Signal && (e.Signal != "" || end.Code == e.Code)
		if ok && same && end.Cause != "" {
			return end.Cause
		}
	}
	return ""
}

// howEnded returns how n processes ended, in words: "exited with code 1", "were ended by SIGKILL".
func howEnded(e *record.Exit, n int) string {
	how := record.ProcessEnd{Code: e.Code, Signal: e.Signal}.How()
	if rest, was := strings.CutPrefix(how, "was "); was && n > 1 {
		how = "were " + rest
	}
	switch e.Reason {
	case record.ExitTimeout:
		how = "hung and " + how
	case record.ExitOveruse:
		how = "used more of the device than the run allowed, and " + how
	}
	return how
}

// hintOf returns an explanation of an unusual signal or exit code, or "". It explains nothing if
// the harness ended the process.
func hintOf(e *record.Exit) string {
	if e.Reason != record.ExitByItself {
		return ""
	}
	return signalHint(e.Signal, e.Code)
}

// ofKill is the explanation of a SIGKILL that the harness did not send.
const ofKill = "perhaps by the kernel's out-of-memory killer: see dmesg"

// notFound is the exit code by which a shell says that it did not find a command.
const notFound = 127

// signalHint returns an explanation of an end by SIGKILL, of a command that was not found, or of an
// exit code of 128 plus the number of a signal. By such a code a shell or a container runtime
// reports that a signal ended the command. For other ends signalHint returns "".
func signalHint(signal string, code int) string {
	names := map[int]string{
		4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV", 15: "SIGTERM",
	}
	name := names[code-128]
	switch {
	case signal == "SIGKILL":
		return ofKill
	case signal == "" && code == notFound:
		return "the shell did not find the command"
	case signal != "" || name == "":
		return ""
	case name == "SIGKILL":
		return "which is 128 + 9: its command was ended by SIGKILL, " + ofKill
	}
	return fmt.Sprintf("which is 128 + %d: its command was ended by %s", code-128, name)
}

// nameIf returns the function processes if named is set, else nil. It is for the parameter name of
// [Judge.ends].
func nameIf(named bool) func(n int) string {
	if named {
		return processes
	}
	return nil
}

func processes(n int) string {
	if n == 1 {
		return "1 process"
	}
	return strconv.Itoa(n) + " processes"
}

func allProcesses(n int) string {
	if n == 2 {
		return "both processes"
	}
	return "all " + processes(n)
}

// join returns the parts that are not empty as "a; b".
func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ")
}

// inBrackets returns the parts that are not empty as " (a; b)".
func inBrackets(parts ...string) string {
	if all := join(parts...); all != "" {
		return " (" + all + ")"
	}
	return ""
}
