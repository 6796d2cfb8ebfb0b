package scenario

// DefaultCosts are those of a scenario that says nothing. They are of the right order, no more: a
// cudaMalloc takes 50 us up to 512 KiB and grows to milliseconds above (University of Virginia,
// CUDA support, "Memory Allocation Overhead"), a cudaFree as much, with a synchronization of the
// device before it; weights come from a disk of 2 GiB a second. Who compares speeds measures them.
func DefaultCosts() Costs {
	return Costs{Malloc: 0.0005, Free: 0.0005, Synchronize: 0.001, Load: 0.5}
}
