package scenario

// defaultCosts returns the costs for a scenario that gives no costs. Only their order of
// magnitude is right. To compare speeds, measure the costs on your system. A cudaMalloc takes 50
// us up to 512 KiB and grows to milliseconds above (University of Virginia, CUDA support, "Memory
// Allocation Overhead"). On an H200 it takes 50 to 65 us up to 256 MiB and 0.6 ms for 4 GiB, and
// a cudaFree 40 us to 2 ms (medians in fixtures/h200/costs.txt). A cudaFree synchronizes the
// device first. Weights come from a disk at 2 GiB a second.
func defaultCosts() Costs {
	return Costs{Malloc: 0.0005, Free: 0.0005, Synchronize: 0.001, Load: 0.5}
}
