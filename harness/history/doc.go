// Package history keeps what earlier runs measured, in an SQLite file or in PostgreSQL, and finds in it the run with which
// memory, or time, got worse.
//
//	store, err := history.Create(ctx, "runs/history.db") // or postgres://host/database
//	id, added, err := store.Add(ctx, history.NewRun("nightly", digest, baseline, report))
//	h, err := store.Load(ctx, "nightly")
//	changes := h.Changes(h.Judged(), policy.Regression)
//	outcome := h.Gate(policy.Regression)
//
// A run that Add returned without an error is on the disk: a writer that is killed, a machine that loses power and a disk
// that fills up afterwards take nothing of it. Any number of processes may add at once. What is judged is a pure function of
// what was loaded.
package history
