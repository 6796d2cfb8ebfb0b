// Package history stores the measurements of earlier runs, in an SQLite file or in PostgreSQL. It
// finds the run at which memory use or time got worse.
//
//	store, err := history.Create(ctx, "runs/history.db") // or postgres://host/database
//	id, added, err := store.Add(ctx, history.NewRun("nightly", digest, baseline, report))
//	h, err := store.Load(ctx, "nightly")
//	changes, withdrawn := h.Changes(h.Judged(), policy.Regression)
//	outcome := h.Gate(policy.Regression)
//
// When Add returns without an error, the run is on the disk. A killed writer, a power failure or a
// full disk cannot remove it later. Any number of processes may add runs at the same time. The
// judgement depends only on the loaded history.
package history
