// Package trace reads, replays and prints traces. A trace lists the calls that a program made to
// PyTorch's CUDA caching allocator.
//
// A trace is text with one operation in each line. # begins a comment:
//
//	a ID SIZE [STREAM]  allocate SIZE bytes       f ID         free
//	s ID STREAM         recordStream              y            torch.cuda.synchronize
//	e                   torch.cuda.empty_cache    r            torch.cuda.reset_peak_memory_stats
//	F FRACTION          set_per_process_memory_fraction
//	c CONF              settings, as in PYTORCH_CUDA_ALLOC_CONF
//	S                   print a snapshot
//
// [Read] reads a trace of any length. [Replay] runs it on the model of the allocator and prints the
// allocator's statistics after each operation. ci/oracle builds a program that does the same with
// PyTorch's own library on a fake driver. The tests call this program the oracle. The model is
// right if Replay and the oracle print the same bytes:
//
//	device := allocator.NewDevice(allocator.DeviceConfig{Total: 16 << 30})
//	totals, err := trace.Replay(os.Stdout, trace.Read(file, "run.trace"), device,
//		allocator.New(device, config), trace.Options{})
//
// The tests draw random settings (Draw) and random traces for them (Settings.Random). The same seed
// gives the same settings and the same trace.
package trace
