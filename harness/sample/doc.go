// Package sample looks at the pipeline's processes and at the devices from outside.
//
//   - sample.go samples the memory of a process and of what it started, every so often.
//   - settle.go waits until what is in use on the devices stops changing, before and after a run.
//   - overuse.go says when more of a device is in use than the run allows; limit.go reads such
//     limits.
//
// What always holds:
//
//   - A driver may take long to answer, or never answer. That delays samples and nothing else.
//   - A process and its family are one sample, for each device that they use.
//   - A process that has ended has no sample.
//   - The package writes nothing to the log. It returns the records that its callers write.
package sample
