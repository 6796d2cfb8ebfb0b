// Package snapshot reads PyTorch's memory snapshots.
// torch.cuda.memory._dump_snapshot("FILE.pickle") writes such files. Programs that register an
// out-of-memory observer write them, too.
//
//	snap, err := snapshot.Open("oom.pickle") // a file, compressed or not
//	for _, d := range snap.Devices {
//		a := d.Analyze(snap.Annotations) // what holds memory, what was never freed, the peak, the OOMs
//		m := d.Map()                     // the device's segments as a record.SegmentMap
//		err := d.WriteTrace(w)           // the device's events as a trace for vramsoak replay
//	}
//
// Reading a file never executes code from the file. A pickle is a program for a stack machine.
// Python's machine runs any function that the file names. The machine in this package has only
// the instructions that make dicts, lists, tuples, strings, numbers, booleans and None. It
// refuses all other instructions, and its error names the byte of the refused instruction.
//
// Reading takes limited memory: at most [MemoryPerByte] times the bytes read so far. The reader
// refuses a pickle at the byte where it needs more memory. It never copies a list or a dict. It
// refuses a segment, block or event to which two places in the file refer. Deep nesting in a file
// causes no recursion. A compressed file may unpack to at most [MaxRatio] times its size.
//
// The format is PyTorch's (torch/csrc/cuda/Module.cpp, torch/csrc/cuda/memory_snapshot.cpp), in
// all forms since 2023. Blocks may have frames, or a history as in 2023. Traces, settings and
// annotations may be missing. A file may hold only the list of segments that
// torch.cuda.memory_snapshot() returns. A file may hold several devices. Unknown keys of the
// snapshot and unknown actions are left out, and [Snapshot.Notes] names them. Unknown keys of
// segments, blocks, events, frames and settings are ignored.
package snapshot
