package harness

import (
	"slices"
	"sync"
)

// An overview puts the progress of all workers together, for one function to show.
type overview struct {
	mu   sync.Mutex
	all  []Progress
	show func(Progress)
}

func (o *overview) put(worker int, p Progress) {
	if o.show == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	p.GPU = o.all[worker].GPU
	o.all[worker] = p
	o.show(together(o.all))
}

// together supposes that the files that are left go as fast as those that are done, on all GPUs at once.
func together(workers []Progress) Progress {
	all := Progress{Workers: slices.Clone(workers), HasLeft: true}
	sum := pace{audioKnown: true}
	for _, p := range workers {
		all.Done += p.Done
		all.Failed += p.Failed
		all.Files = max(all.Files, p.Files)
		all.Elapsed = max(all.Elapsed, p.Elapsed)
		all.Left = max(all.Left, p.Left)
		all.HasLeft = all.HasLeft && p.HasLeft
		if p.pace.done == 0 {
			continue
		}
		if sum.done == 0 || p.pace.since < sum.since {
			sum.since = p.pace.since
		}
		sum.leftAudio = p.pace.leftAudio + p.pace.doneAudio // what this one did not do, and did: all there is
		sum.done += p.pace.done
		sum.doneAudio += p.pace.doneAudio
		sum.audioKnown = sum.audioKnown && p.pace.audioKnown
		sum.spent = max(sum.spent, p.pace.spent)
	}
	if all.Files > 0 { // else it soaks until a time, which all have in common
		sum.left = all.Files - sum.done
		sum.leftAudio -= sum.doneAudio
		all.Left, all.HasLeft = sum.remaining()
	}
	return all
}
