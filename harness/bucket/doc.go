// Package bucket keeps runs of many shards in an S3 bucket, where the machines that share a batch
// have no file system in common. A run has the same names there as in a folder (package
// runfolder), except for its logs:
//
//	s3://bucket/prefix/nightly-42/
//	  run.json                                what the run is
//	  shard-0003/lease-000002                 who took the shard: see [Lease]
//	  shard-0003/soak.log/000002/000001       a piece of the log: lease and piece, see [Mirror]
//	  shard-0003/gpu-0/soak.log/000002/000001 the same with --gpus
//	  shard-0003/verdict.json ...             the files that a finished shard leaves
//
// # Leases
//
// A task takes a shard by writing the next lease, which only one task can do (If-None-Match). It
// then copies what the log of the lease before holds, stores that copy as the beginning of its own
// log, and only then begins to work. A task whose lease is not the highest any more gets
// [ErrTakenOver]. What such a task still writes is under its own lease's keys, so it cannot mix
// with the evidence of its successor.
//
// # Logs
//
// The harness's journal on the local disk stays the record of a run. A [Mirror] stores it piece by
// piece: a piece of at least 1 MiB is never written again, and the last, smaller piece is replaced
// as files end. The first piece of a lease is written last of all that the task began with. So the
// log of a shard is the joined pieces of the highest lease that has a first piece: see [Log].
//
// # Failures
//
// Requests that fail for a reason that may pass (a broken connection, a server's 5xx, an answer
// that was cut off) are repeated. A connection on which nothing moves for half a minute counts as
// broken, however slow a server may otherwise be. Credentials come from AWS's own chain:
// environment, shared files, roles. They are masked in all errors.
package bucket
