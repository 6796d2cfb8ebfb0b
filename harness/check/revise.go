package check

// Revise changes findings, and gives the verdict of all anew: for who knows more than the log tells, as a simulator does. What
// the policy demands is added to what came of it.
func (r *Report) Revise(change func(f *Finding)) {
	for i := range r.found {
		change(&r.found[i])
	}
	r.Join()
}
