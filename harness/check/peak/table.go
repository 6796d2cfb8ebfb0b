package peak

import "fmt"

// A processTable is one printed table of nvidia-smi: a device and the processes on it.
//
//	|   0  NVIDIA A40                     On  |   00000000:CA:00.0 Off |                    0 |
//	|  0%   35C    P0             99W /  300W |    1835MiB /  46068MiB |     30%      Default |
//	|    0   N/A  N/A         2123797      C   /opt/conda/envs/aucum/bin/python       1826MiB |
//
// If one process computes on the device, it may be the program that wrote the log. It counts as
// that program in two cases. The program reported memory before the table, and the process has at
// least as much. Or the log has no reports of the program at all. If the first report follows only
// after the table, the process may be another one.
type processTable struct {
	device    Mark
	process   Mark // the last process that computes
	processes int  // number of processes that compute
}

// add adds the line of a process to the table. A process that only draws does not count.
func (t *processTable) add(m Mark, graphics bool) {
	if graphics {
		return
	}
	t.process = m
	t.processes++
}

// closeTable adds the readings of the table, which has ended, to the marks.
func (r *run) closeTable() {
	t := r.table
	if r.table = nil; t == nil {
		return
	}
	if !t.device.seen {
		if t.processes > 0 { // lines of processes without a device, of one table or of several
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
