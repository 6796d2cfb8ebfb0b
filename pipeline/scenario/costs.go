package scenario

// DefaultCosts are those of a scenario that says nothing.
func DefaultCosts() Costs {
	return Costs{Malloc: 0.0005, Free: 0.0005, Synchronize: 0.001, Load: 0.5}
}
