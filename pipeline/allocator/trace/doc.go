// Package trace reads, replays and makes up traces of what a program asks of PyTorch's CUDA caching allocator.
//
// A trace is a text of one operation a line; # begins a comment:
//
//	a ID SIZE [STREAM]  allocate SIZE bytes       f ID         free
//	s ID STREAM         recordStream              y            torch.cuda.synchronize
//	e                   torch.cuda.empty_cache    r            torch.cuda.reset_peak_memory_stats
//	F FRACTION          set_per_process_memory_fraction
//	c CONF              settings, as in PYTORCH_CUDA_ALLOC_CONF
//	S                   print a snapshot
//
// [Read] reads one of any length, [Replay] does to the model of the allocator what it says, and prints after each operation what
// the allocator's statistics are. ci/oracle builds a program that does the same with PyTorch's own library, on a driver that is
// made up: what both print is the same to the last byte, so that diff is the judge of the model:
//
//	device := allocator.NewDevice(allocator.DeviceConfig{Total: 16 << 30})
//	totals, err := trace.Replay(os.Stdout, trace.Read(file, "run.trace"), device, allocator.New(device, config), trace.Options{})
//
// [Draw] draws settings and [Settings.Random] makes up a trace to try them with, the same for the same seed.
package trace
