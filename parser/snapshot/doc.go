// Package snapshot reads PyTorch's memory snapshots: what
// torch.cuda.memory._dump_snapshot("FILE.pickle") writes, and what its out-of-memory observers do.
//
//	snap, err := snapshot.Open("oom.pickle") // a file, compressed ones too
//	for _, d := range snap.Devices {
//		a := d.Analyze(snap.Annotations) // what holds memory, what was never freed, the peak, the OOMs
//		m := d.Map()                     // its segments as a parser.SegmentMap
//		err := d.WriteTrace(w)           // its events as a trace for vramsoak replay
//	}
//
// Nothing in a file is ever executed. A pickle is a program for a stack machine, and Python's runs
// any function that the file names; the machine here has only the instructions that make dicts,
// lists, tuples, strings, numbers, booleans and None, and refuses the others with the byte where
// they stand. What reading holds is at most [MemoryPerByte] times what has been read so far, and a
// pickle that asks for more is refused at that byte: containers are never copied, a segment, a
// block or an event that two places refer to is refused, and nothing recurses as deep as the file
// says. What is compressed may unpack to at most [MaxRatio] times its size.
//
// The format is PyTorch's (torch/csrc/cuda/Module.cpp, torch/csrc/cuda/memory_snapshot.cpp), in all
// of its forms since 2023: blocks with a history, as they were then, or with frames, with and
// without traces, settings and annotations, a list of segments alone
// (torch.cuda.memory_snapshot()), several devices. Keys and actions that are not known are passed
// over.
package snapshot
