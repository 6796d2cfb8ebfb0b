// Package job writes the jobs that soak a batch on a cluster. Each task of a job works on one
// shard, and a last job judges all shards as one run.
//
//	err := job.Slurm{Soak: job.Soak{Shards: 8, Runs: "runs", Run: "night"}}.Write(os.Stdout)
//
// The result is a text that people read, change and keep. So its comments say why each line is
// there, and the templates hold as much of it as possible.
package job
