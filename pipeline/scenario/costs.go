package scenario

// Costs are the seconds that calls of the driver take. They slow down a pipeline that empties the
// cache often.
type Costs struct {
	// Malloc and MallocPerGiB are the time of a cudaMalloc: of the call, and for each GiB.
	Malloc, MallocPerGiB float64
	// Free and FreePerGiB are the time of a cudaFree: of the call, and for each GiB.
	Free, FreePerGiB float64
	// FailedMalloc is the time of a cudaMalloc that fails, before the allocator releases its cache.
	FailedMalloc float64
	// Synchronize is the time of a device synchronize, before cached blocks are released. The work
	// for which it waits does not count, because that work must be done anyway.
	Synchronize float64
	Load        float64 // of loading a GiB of weights
}

// defaultCosts returns the costs for a scenario that gives no costs. They were measured on an H200
// with PyTorch 2.11 (medians in fixtures/h200/costs.txt; TestCosts compares): a cudaMalloc takes
// 51 us for 2 MiB, 65 for 256 MiB and 211 for 1 GiB, a cudaFree 41, 181 and 624. Other cards and
// drivers differ; above all WDDM, the driver model of Windows, which was not measured. Weights
// come from a disk at 2 GiB a second, which is assumed.
func defaultCosts() Costs {
	return Costs{
		Malloc: 50e-6, MallocPerGiB: 150e-6, Free: 40e-6, FreePerGiB: 550e-6, FailedMalloc: 4.3e-3,
		Synchronize: 20e-6, Load: 0.5,
	}
}

// MallocTime returns the time of a cudaMalloc of so many bytes, in seconds.
func (c Costs) MallocTime(bytes int64) float64 {
	return c.Malloc + c.MallocPerGiB*float64(bytes)/(1<<30)
}

// FreeTime returns the time of a cudaFree of so many bytes, in seconds.
func (c Costs) FreeTime(bytes int64) float64 {
	return c.Free + c.FreePerGiB*float64(bytes)/(1<<30)
}
