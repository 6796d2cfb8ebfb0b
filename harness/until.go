package harness

import (
	"context"
	"time"
)

// aheadMax is how many files a process is given at once that is to work until a time, or for as long as there are files: by
// the end of its list it is started anew.
const aheadMax = 10_000

// over says that the time to soak is over. One file is done whatever the time, and so are those of which the run lost what was
// done before.
func (r *run) over(now time.Time) bool {
	return r.cfg.Until > 0 && now.Sub(r.started) >= r.cfg.Until && len(r.batch.torn) == 0 && r.batch.ended() > 0
}

// feed is the files that the next process gets, none where the run is done.
func (r *run) feed(ctx context.Context, now time.Time) []int {
	if r.queue != nil {
		return r.draw(ctx, now)
	}
	if r.over(now) {
		return nil
	}
	want := r.share()
	if want == 0 {
		want = aheadMax
	}
	for more := true; more && r.batch.left < want; {
		more = r.refill()
	}
	fed := r.batch.waiting(r.share())
	if len(fed) == 0 && r.batch.again(r.cfg.RetryFailed) > 0 {
		fed = r.batch.waiting(r.share())
	}
	return fed
}

// refill adds the files that come next, where there are any.
func (r *run) refill() bool {
	if r.queue != nil {
		return r.learn() || r.queue.grow() && r.learn()
	}
	if r.cfg.More == nil {
		return false
	}
	files := r.cfg.More()
	for _, f := range files {
		r.batch.add(f)
	}
	return len(files) > 0
}

// extend makes the batch so long at least, where it can be.
func (r *run) extend(count int) {
	for more := true; more && len(r.batch.files) < count; {
		more = r.refill()
	}
}

// enough says that no file is to begin any more.
func (t *tracker) enough(now time.Time) bool { return t.over != nil && t.over(now) }
