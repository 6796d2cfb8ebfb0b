package validation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/pipeline/simulator"
)

// partsOf returns the parts of a stage's memory for a report, without the allocator's cache.
func partsOf(parts []simulator.Part) []Part {
	var out []Part
	for _, p := range parts {
		if p.Kind != simulator.Cache {
			out = append(out, Part{What: partName(p), Bytes: p.Bytes})
		}
	}
	return out
}

// partName returns the name of a part for a report, such as "weights of asr", "mel" or "context".
func partName(p simulator.Part) string {
	switch {
	case p.Kind == simulator.Kept && p.Name != "":
		return p.Name + ", kept"
	case p.Kind == simulator.Kept:
		return "leaked"
	case p.Kind == simulator.Others:
		return "other processes"
	case p.Name == "":
		return string(p.Kind)
	case p.Kind == simulator.Tensors:
		return p.Name
	case p.Kind == simulator.Measured:
		return p.Name + " as measured"
	}
	return fmt.Sprintf("%s of %s", p.Kind, p.Name)
}

// refusalOf returns a report's description of an allocation that failed.
func refusalOf(f *simulator.Failure) *Refusal {
	r := &Refusal{
		File: f.File, Stage: f.Stage, What: f.What, Recovered: f.Recovered,
		Parts: partsOf(f.Parts),
	}
	if f.Of.Name != "" {
		r.What = partName(f.Of)
	}
	for _, p := range f.Parts {
		if p.Kind == simulator.Kept {
			r.Kept = append(r.Kept, Part{What: cmp.Or(p.Name, "leaked memory"), Bytes: p.Bytes})
		}
	}
	if o := f.OOM; o != nil {
		r.Requested, r.FreeInSum, r.LargestFree = o.Requested, f.Free(), f.LargestFree()
		r.Missing = f.Missing()
		r.Fragmentation = f.Fragmented() && !check.IsFull(r.FreeInSum, o.DeviceTotal)
		r.Message = o.Error()
	}
	return r
}

// retriesOf counts the retries in each quarter of the files up to the first failure.
func retriesOf(o *simulator.Outcome) []Retries {
	files := len(o.PerFile)
	if f := o.FirstFailure; f != nil && f.File > 0 {
		files = min(files, f.File)
	}
	if o.FirstPressure == 0 || o.FirstPressure > files {
		return nil
	}
	var all []Retries
	const parts = 4
	for i := range parts {
		r := Retries{From: files*i/parts + 1, To: files * (i + 1) / parts}
		for n := r.From; n <= r.To; n++ {
			r.Count += int(o.PerFile[n-1].Retries)
		}
		if r.From <= r.To {
			all = append(all, r)
		}
	}
	return all
}

// why returns the reason for an answer other than fits in one clause: the checks that fail or are
// undecided, such as "leak of Enrollment fails".
func (s *simulation) why() string {
	of, ends := check.Fail, " fails"
	switch s.Answer {
	case Fails:
	case Unsure:
		of, ends = check.Undecided, " is undecided"
	default:
		return ""
	}
	var which []string
	for _, f := range s.checks.Findings {
		if f.Gates && f.Verdict == of {
			which = append(which, f.Check+" of "+f.Subject)
		}
	}
	return strings.Join(slices.Compact(which), ", ") + ends
}

// describe fills in what a report says about a simulation.
func (s *simulation) describe(r *Report) {
	r.Answer, r.Failed, r.FirstFailed, r.Speed = s.Answer, s.Failed, s.FirstFailed, s.Speed
	r.Simulations = 1
	required := s.required()
	r.Stages = slices.Clone(required.Stages)
	for i := range r.Stages {
		st, on := &r.Stages[i], s.Stages[i] // on: from the run on the card
		st.Reached, st.Reserved, st.Used, st.Cache = on.Reached, on.Reserved, on.Used, on.Cache
	}
	r.Headroom = r.Total - required.Need
	r.Notes = s.notes
	if n := len(s.Fragmentation); n > 0 {
		r.Fragmentation = &FragmentedEnd{
			Files: n, First: s.Fragmentation[0], Last: s.Fragmentation[n-1],
			Most:    slices.Max(s.Fragmentation),
			PerFile: perFile(s.Fragmentation), LargestFree: s.outcome.PerFile[n-1].LargestFree,
		}
	}
	r.Retry = s.outcome.FirstPressure
	r.Retries = retriesOf(s.outcome)
	if f := s.outcome.FirstFailure; f != nil {
		r.Failure = refusalOf(f)
	}
	if s.Answer == Fails {
		r.Why = s.why()
	}
	r.Checks = s.checks
}
