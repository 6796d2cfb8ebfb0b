package peak

import "fmt"

// A processTable is one look of the driver at a device, and at the processes on it:
//
//	|   0  NVIDIA A40                     On  |   00000000:CA:00.0 Off |                    0 |
//	|  0%   35C    P0             99W /  300W |    1835MiB /  46068MiB |     30%      Default |
//	|    0   N/A  N/A         2123797      C   /opt/conda/envs/aucum/bin/python       1826MiB |
//
// A process that is alone there and does not only draw is the program's own, if the program's own
// readings say that it holds memory there, or the log has no such reading. It is not known to be
// the program's if the table was printed before the program took memory: another process may have
// been there.
type processTable struct {
	device    Mark
	process   Mark // the last of those that compute
	processes int  // that compute
}

// add takes a process's row.
func (t *processTable) add(m Mark, graphics bool) {
	if graphics {
		return
	}
	t.process = m
	t.processes++
}

// closeTable takes the readings of the last table.
func (r *run) closeTable() {
	t := r.table
	if r.table = nil; t == nil {
		return
	}
	if !t.device.seen {
		if t.processes > 0 { // rows without a device's, of one look or of several
			t.process.notKnown = "one process holds it, and the log does not say which"
			r.wait(device, &t.process)
		}
		return
	}
	t.process.Total = t.device.Total
	switch {
	case t.processes > 1:
		t.device.notKnown = fmt.Sprintf("%d processes share the device", t.processes)
	case t.processes == 0:
		t.device.notKnown = "the driver lists no process there"
	case r.holds > 0 && t.process.Size.High() >= r.holds:
		r.wait(Process, &t.process)
		return
	case r.holds > 0:
		t.device.notKnown = "the process that the driver lists holds less than this one"
	default:
		t.device.notKnown = "the driver lists one process there, " +
			"before the log's program reports any memory"
		r.wait(only, &t.process)
	}
	r.wait(device, &t.device)
}
