package peak

import "fmt"

// A processTable is one printed table of nvidia-smi: a device and the processes on it.
//
//	|   0  NVIDIA A40                     On  |   00000000:CA:00.0 Off |                    0 |
//	|  0%   35C    P0             99W /  300W |    1835MiB /  46068MiB |     30%      Default |
//	|    0   N/A  N/A         2123797      C   /opt/conda/envs/aucum/bin/python       1826MiB |
//
// If one process computes there, it may be the log's program. It is taken for the program if the
// program reported memory before the table, and the process has at least as much. It is also taken
// for the program if the log has no such reports at all. If the first report only follows after the
// table, the process may be another one.
type processTable struct {
	device    Mark
	process   Mark // the last process that computes
	processes int  // number of processes that compute
}

// add takes the row of a process. A process that only draws does not count.
func (t *processTable) add(m Mark, graphics bool) {
	if graphics {
		return
	}
	t.process = m
	t.processes++
}

// closeTable takes the readings of the table.
func (r *run) closeTable() {
	t := r.table
	if r.table = nil; t == nil {
		return
	}
	if !t.device.seen {
		if t.processes > 0 { // rows without a device, of one table or of several
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
