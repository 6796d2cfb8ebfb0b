// Package shard divides a batch among the tasks of an array or a job. Each task works on one shard
// and needs to know only its number and how many there are:
//
//	share, err := shard.Auto(os.LookupEnv)   // or shard.Parse("3/8")
//	mine := shard.Split(batch, share.Shards)[share.Shard-1]
//
// All tasks compute the same division by themselves: it is a function of the batch and of the
// number of shards. [Digest] proves afterwards that they did.
package shard
