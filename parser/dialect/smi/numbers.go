package smi

import "vramsoak/parser/record"

// DriverNumbers reports whether a reading numbers devices as the driver does. A program may number
// them in another order.
func DriverNumbers(c *record.Checkpoint) bool {
	switch c.Dialect {
	case Table.Name, CSV.Name, Dmon.Name, Gpustat.Name, ROCm.Name:
		return true
	}
	return false
}
