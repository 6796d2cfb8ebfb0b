// Package sample measures the memory of the pipeline's processes and of the devices from outside.
//
//   - sample.go samples the memory of a process and its descendants at a fixed interval.
//   - settle.go waits, before and after a run, until the memory in use on the devices stops
//     changing.
//   - overuse.go compares the memory in use on a device with the limit of the run; limit.go parses
//     such limits.
//
// What always holds:
//
//   - A driver that answers late, or never, delays samples and nothing else.
//   - One sample covers a process together with its descendants. There is one sample for each
//     device that they use.
//   - A process that has ended has no sample.
//   - The package writes nothing to the log. It returns the records that its callers write.
package sample
