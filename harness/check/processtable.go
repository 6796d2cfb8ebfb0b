package check

import "fmt"

// A processTable is one look of the driver at a device, and at the processes on it:
//
//	|   0  NVIDIA A40                     On  |   00000000:CA:00.0 Off |                    0 |
//	|  0%   35C    P0             99W /  300W |    1835MiB /  46068MiB |     30%      Default |
//	|    0   N/A  N/A         2123797      C   /opt/conda/envs/aucum/bin/python       1826MiB |
//
// One that does not only draw, and is alone there, is the program's own, if the program holds
// memory there by its own readings, or the log has no such reading. It is not where the device was
// looked at before the program took memory: then another one may have been there.
type processTable struct {
	device    mark
	process   mark // the last of those that compute
	processes int  // that compute
}

// add takes a process's row.
func (t *processTable) add(m mark, graphics bool) {
	if graphics {
		return
	}
	t.process = m
	t.processes++
}

// closeTable takes the readings of the last table.
func (r *runMark) closeTable() {
	t := r.table
	if r.table = nil; t == nil {
		return
	}
	if !t.device.seen {
		if t.processes > 0 { // rows without a device's, of one look or of several
			t.process.why = "it is one process's, and the log does not tell whose"
			r.wait(byDevice, &t.process)
		}
		return
	}
	t.process.total = t.device.total
	switch {
	case t.processes > 1:
		t.device.why = fmt.Sprintf("%d processes share the device", t.processes)
	case t.processes == 0:
		t.device.why = "the driver names no process there"
	case r.holds > 0 && t.process.size.High() >= r.holds:
		r.wait(byProcess, &t.process)
		return
	case r.holds > 0:
		t.device.why = "the process that the driver names has less there than this one holds"
	default:
		t.device.why = "the driver names one process there, before this log's program says that it holds anything"
		r.wait(byTable, &t.process)
	}
	r.wait(byDevice, &t.device)
}
