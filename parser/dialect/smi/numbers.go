package smi

import "vramsoak/parser/record"

// DriverNumbers reports whether a reading gives a device the number that the driver gives it. A
// program's own numbers may be in another order.
func DriverNumbers(c *record.Checkpoint) bool {
	switch c.Dialect {
	case Table.Name, CSV.Name, Dmon.Name, Gpustat.Name, ROCm.Name:
		return true
	}
	return false
}
