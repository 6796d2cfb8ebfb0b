package smi_test

import (
	"testing"

	"vramsoak/parser/dialect/dialecttest"
	"vramsoak/parser/dialect/smi"
)

// TestCSV: each number is read with the device, the quantity and the unit that its row, its
// header or its table gives. A row that was cut off gives an error or no record. The tables of
// other tools give no record.
func TestCSV(t *testing.T) {
	dialecttest.Run(t, all, []dialecttest.Case{
		{"columns in any order", `
memory.total [MiB], index, memory.used [MiB]
8192 MiB, 1, 841 MiB
8192 MiB, 0, 7 MiB
`, `
2 checkpoint "nvidia-smi" gpu1 total=8192MiB used=841MiB
3 checkpoint "nvidia-smi" total=8192MiB used=7MiB
`},
		{"the header's unit", `
index, memory.used [MiB], memory.total [MiB]
0, 841, 8192
`, `
2 checkpoint "nvidia-smi" total=8192MiB used=841MiB
`},
		{"the value's unit comes before the header's", `
index, memory.used [MiB], memory.total [MiB]
0, 2 GiB, 8192 MiB
`, `
2 checkpoint "nvidia-smi" total=8192MiB used=2048MiB
`},
		{"megabytes of a script", `
timestamp,gpu_util(%),memory_used(MB),memory_total(MB)
1747068123.41,37,2210.5,15360
`, `
2 checkpoint "gpu memory" total=15360MiB used=2317877248B
`},
		{"no value", `
index, memory.used [MiB], memory.total [MiB]
0, [N/A], 8192 MiB
1, [Not Supported], [Not Supported]
`, `
2 checkpoint "nvidia-smi" total=8192MiB
`},
		{"reserved by the driver", `
index, memory.reserved [MiB], memory.used [MiB]
0, 569 MiB, 841 MiB
`, `
2 checkpoint "nvidia-smi" used=841MiB
`},
		{"commas in a name", `
index, name, memory.used [MiB]
1, Some GPU, rev. 2, 841 MiB
`, `
2 checkpoint "nvidia-smi" gpu1 used=841MiB
`},
		{"a torn row", `
timestamp, index, memory.used [MiB], memory.total [MiB]
2023/06/22 18:56:56.252, 0, 84
2023/06/22 18:56:57.252, 0, 841 MiB, 8192 MiB
`, `
2 unreadable: expected a row of 4 columns, as in the header, found "2023/06/22 18:56:56.252, 0, 84"
3 checkpoint "nvidia-smi" total=8192MiB used=841MiB
`},
		{"a process", `
pid, process_name, used_gpu_memory [MiB]
2123797, /opt/conda/bin/python, 1826 MiB
`, `
2 checkpoint "process 2123797 (python)" buffer=1826MiB pid=2123797
`},
		{"rows of two devices in turn, told by their times", `
timestamp, memory.used [MiB]
2024/01/01 10:00:00.123, 10 MiB
2024/01/01 10:00:00.125, 20 MiB
2024/01/01 10:00:01.126, 11 MiB
2024/01/01 10:00:01.128, 21 MiB
`, `
2 checkpoint "nvidia-smi" used=10MiB
3 checkpoint "nvidia-smi" gpu1 used=20MiB
4 checkpoint "nvidia-smi" used=11MiB
5 checkpoint "nvidia-smi" gpu1 used=21MiB
`},
		{"no header: used, free or total?", `
2 %, 588 MiB
3 %, 589 MiB
`, `
1 unreadable: expected the header of such rows before them, with "memory.used [MiB]" in it, found "2 %, 588 MiB"
`},
		{"peaks and reserved memory of another tool", `
step,gpu_mem_peak_used(MB),gpu_mem_used(MB),gpu_mem_reserved_total(MB)
1,9000,841,9001
`, `
2 checkpoint "gpu memory" used=841MiB
`},
		{"memory of nobody knows what", `
time,mem_used,mem_total
12:00:00,2210,15360
`, ``},
		{"host memory of another tool", `
time,cpu,mem_used,mem_total
12:00:00,37,2210,15360
`, ``},
		{"a row that was cut off in its number", `
timestamp, index, memory.used [MiB]
2026/11/20 02:00:01.123, 0, 12345 MiB
2026/11/20 02:00:02.123, 0, 12
2026/11/20 02:00:03.123, 0, 12346 MiB
`, `
2 checkpoint "nvidia-smi" used=12345MiB
3 unreadable: expected memory with its unit, such as 841 MiB, as in the other rows, found "2026/11/20 02:00:02.123, 0, 12"
4 checkpoint "nvidia-smi" used=12346MiB
`},
		{"the first row was cut off in its number", `
timestamp, index, memory.used [MiB]
2026/11/20 02:00:02.123, 0, 12
2026/11/20 02:00:03.123, 0, 12346 MiB
`, `
2 unreadable: expected memory with its unit, such as 841 MiB, as in the other rows, found "2026/11/20 02:00:02.123, 0, 12"
3 checkpoint "nvidia-smi" used=12346MiB
`},
		{"a start again behind a torn row, without units", `
timestamp, index, memory.used [MiB]
2026/11/20 02:00:01.123, 0, 12345 MiB
2026/11/20 02:00:02.123, 0, 12timestamp, index, memory.used [MiB]
2026/11/20 02:00:03.123, 0, 7
2026/11/20 02:00:03.125, 1, 8
`, `
2 checkpoint "nvidia-smi" used=12345MiB
3 unreadable: expected a line break between a row and the header, found "2026/11/20 02:00:02.123, 0, 12timestamp, index, memory.used [MiB]"
4 checkpoint "nvidia-smi" used=7MiB
5 checkpoint "nvidia-smi" gpu1 used=8MiB
`},
		{"behind a logger's prefix", `
2026-11-20 02:00:03,123 - INFO - timestamp, index, memory.used [MiB], memory.total [MiB]
2026-11-20 02:00:03,124 - INFO - 2026/11/20 02:00:03.120, 1, 841 MiB, 8192 MiB
2026-11-20 02:00:04,124 - WARNING - 2026/11/20 02:00:04.120, 1, 8000 MiB, 8192 MiB
INFO:root:index, memory.used [MiB]
INFO:root:2, 842 MiB
`, `
2 checkpoint "nvidia-smi" gpu1 total=8192MiB used=841MiB
3 checkpoint "nvidia-smi" gpu1 total=8192MiB used=8000MiB
5 checkpoint "nvidia-smi" gpu2 used=842MiB
`},
		{"behind Loguru's prefix", `
2026-01-25 17:25:40.123 | INFO     | smi:log:12 - index, memory.used [MiB]
2026-01-25 17:25:40.124 | WARNING  | smi:log:12 - 3, 7 MiB
`, `
2 checkpoint "nvidia-smi" gpu3 used=7MiB
`},
		{"behind other levels of Loguru", `
2026-01-25 17:25:40.123 | INFO     | smi:log:12 - index, memory.used [MiB]
2026-01-25 17:25:40.124 | SUCCESS  | smi:log:12 - 3, 7 MiB
2026-01-25 17:25:40.125 | TRACE    | smi:log:12 - 3, 8 MiB
`, `
2 checkpoint "nvidia-smi" gpu3 used=7MiB
3 checkpoint "nvidia-smi" gpu3 used=8MiB
`},
		{"only the rows are behind Loguru's prefix", `
index, memory.used [MiB]
2026-01-25 17:25:40.124 | INFO     | smi:log:12 - 3, 7 MiB
`, `
2 checkpoint "nvidia-smi" gpu3 used=7MiB
`},
		{"one message of a logger with several lines", `
2026-11-20 02:00:03,123 - INFO - index, memory.used [MiB]
0, 841 MiB
1, 842 MiB
`, `
2 checkpoint "nvidia-smi" used=841MiB
3 checkpoint "nvidia-smi" gpu1 used=842MiB
`},
		{"only the rows are behind a logger's prefix", `
index, memory.used [MiB], memory.total [MiB]
2026-11-20 02:00:03,124 - INFO - 1, 841 MiB, 8192 MiB
INFO:root:0, 842 MiB, 8192 MiB
2026-11-20 02:00:03,124 - INFO - done, 842 files, 8192 left
`, `
2 checkpoint "nvidia-smi" gpu1 total=8192MiB used=841MiB
3 checkpoint "nvidia-smi" total=8192MiB used=842MiB
`},
		{"two headers in one log, with columns in another order", `
memory.used [MiB], index
7 MiB, 1
memory.total [MiB], memory.used [MiB], index
8192 MiB, 8 MiB, 1
9 MiB, 0
`, `
2 checkpoint "nvidia-smi" gpu1 used=7MiB
4 checkpoint "nvidia-smi" gpu1 total=8192MiB used=8MiB
5 checkpoint "nvidia-smi" used=9MiB
`},
		{"an index that is no number", `
timestamp, index, memory.used [MiB]
2026/11/20 02:00:01.123, [Unknown Error], 841 MiB
`, `
2 unreadable: expected the number of a device, below 256, or its whole id, found "2026/11/20 02:00:01.123, [Unknown Error], 841 MiB"
`},
		{"an id that was cut off", `
memory.used [MiB], uuid
7 MiB, GPU-aaaa
8 MiB, GPU-bbbb
9 MiB, GPU-b
`, `
2 checkpoint "nvidia-smi" used=7MiB
3 checkpoint "nvidia-smi" gpu1 used=8MiB
4 unreadable: expected the number of a device, below 256, or its whole id, found "9 MiB, GPU-b"
`},
		{"the rows of a table without memory are no memory", `
timestamp, index, memory.used [MiB]
2026/11/20 02:00:01.123, 0, 12345
timestamp, index, utilization.gpu [%]
2026/11/20 02:00:02.123, 0, 45
2026/11/20 02:00:03.123, 0, 46
timestamp, index, memory.used [MiB]
2026/11/20 02:00:04.123, 0, 12346
`, `
2 checkpoint "nvidia-smi" used=12345MiB
4 unreadable: expected rows that differ from those of the other table in this log, found "2026/11/20 02:00:02.123, 0, 45"
7 checkpoint "nvidia-smi" used=12346MiB
`},
		{"serial numbers that are not there: the order tells the devices", `
timestamp, serial, memory.used [MiB]
2024/01/01 10:00:00.123, [N/A], 10 MiB
2024/01/01 10:00:00.125, [N/A], 20 MiB
2024/01/01 10:00:01.126, [N/A], 11 MiB
2024/01/01 10:00:01.128, [N/A], 21 MiB
`, `
2 checkpoint "nvidia-smi" used=10MiB
3 checkpoint "nvidia-smi" gpu1 used=20MiB
4 checkpoint "nvidia-smi" used=11MiB
5 checkpoint "nvidia-smi" gpu1 used=21MiB
`},
		{"a column gpu is the device, or how busy it is", `
gpu,gpu_memory_used_mb
1,841
time,cpu,gpu,gpu_memory_used_mb
12:00:00,5,37,842
`, `
2 checkpoint "gpu memory" gpu1 used=841MiB
4 checkpoint "gpu memory" used=842MiB
`},
		{"no header: index and memory, in several polls", `
0, NVIDIA A40, 841 MiB
1, NVIDIA A40, 7 MiB
0, NVIDIA A40, 842 MiB
1, NVIDIA A40, 7 MiB
`, `
1 unreadable: expected the header of such rows before them, with "memory.used [MiB]" in it, found "0, NVIDIA A40, 841 MiB"
`},
		{"no header, behind a logger's prefix", `
INFO:root:0, 841 MiB
INFO:root:0, 842 MiB
`, `
1 unreadable: expected the header of such rows before them, with "memory.used [MiB]" in it, found "INFO:root:0, 841 MiB"
`},
		{"no header, behind a logger's prefix with a time", `
2026-11-20 02:00:03,124 - INFO - 0, 841 MiB
2026-11-20 02:00:04,124 - INFO - 0, 842 MiB
`, `
1 unreadable: expected the header of such rows before them, with "memory.used [MiB]" in it, found "0, 841 MiB"
`},
		{"the size of two devices, printed once", `
0, NVIDIA A40, 46068 MiB
1, NVIDIA A40, 46068 MiB
`, ``},
		{"the header comes with the next start", `
2026/11/20 02:00:01.123, 0, 12345
timestamp, index, memory.used [MiB]
2026/11/20 02:00:04.123, 0, 12347
`, `
1 unreadable: expected the header of such rows before them, with "memory.used [MiB]" in it, found "2026/11/20 02:00:01.123, 0, 12345"
3 checkpoint "nvidia-smi" used=12347MiB
`},
		{"a sentence about columns", `
The columns are memory.used [MiB], memory.total [MiB] as always
1, 2
`, ``},
		{"another table behind the header", `
index, memory.used [MiB], memory.total [MiB]
epoch, split, accuracy
3, train, 0.5
`, ``},
	})
}

// TestUnfinished: the last row of a log without a line break at its end gives a reading only if
// what may be missing does not change the reading. If it does, the row gives no error either,
// because the program may still write it.
func TestUnfinished(t *testing.T) {
	for _, c := range []dialecttest.Case{
		{"in the number, with units", `
timestamp, index, memory.used [MiB]
2026/11/20 02:00:01.123, 0, 12345 MiB
2026/11/20 02:00:02.123, 0, 12`, `
2 checkpoint "nvidia-smi" used=12345MiB
`},
		{"in the number, without units", `
timestamp, index, memory.used [MiB]
2026/11/20 02:00:01.123, 0, 12345
2026/11/20 02:00:02.123, 0, 12`, `
2 checkpoint "nvidia-smi" used=12345MiB
`},
		{"two columns", `
index, memory.used [MiB]
0, 12345
0, 12`, `
2 checkpoint "nvidia-smi" used=12345MiB
`},
		{"a column alone", `
memory.used [MiB]
12345
12`, `
2 checkpoint "nvidia-smi" used=12345MiB
`},
		{"fewer columns", `
timestamp, index, memory.used [MiB], memory.total [MiB]
2026/11/20 02:00:01.123, 0, 12345, 40960
2026/11/20 02:00:02.123, 0, 12`, `
2 checkpoint "nvidia-smi" total=40960MiB used=12345MiB
`},
		{"fewer columns, as many as in an earlier table", `
timestamp, index, memory.used [MiB]
2026/11/20 02:00:01.123, 0, 12345 MiB
timestamp, index, memory.free [MiB], memory.total [MiB]
2026/11/20 02:00:02.123, 0, 7 MiB`, `
2 checkpoint "nvidia-smi" used=12345MiB
`},
		{"in the number of the device", `
memory.used [MiB], index
12345 MiB, 12
12345 MiB, 1`, `
2 checkpoint "nvidia-smi" gpu12 used=12345MiB
`},
		{"whole: a unit ends the row", `
timestamp, index, memory.used [MiB]
2026/11/20 02:00:01.123, 0, 12345 MiB`, `
2 checkpoint "nvidia-smi" used=12345MiB
`},
		{"whole: only the last column, which is not memory, may be longer", `
index, memory.used [MiB], power.draw [W]
0, 12345, 25`, `
2 checkpoint "nvidia-smi" used=12345MiB
`},
		{"the last column is empty", `
index, memory.used [MiB], memory.total [MiB]
0, 12345,`, `
2 checkpoint "nvidia-smi" used=12345MiB
`},
		{"the only row", `
timestamp, index, memory.used [MiB]
2026/11/20 02:00:01.123, 0, 12`, `
2 unreadable: expected a line break behind the row, which shows that its last number is whole, found "2026/11/20 02:00:01.123, 0, 12"
`},
		{"dmon", `
# gpu   pwr    fb
# Idx     W    MB
    0    62  1234
    0    62  12`, `
3 checkpoint "nvidia-smi dmon" used=1234MiB
`},
		{"rocm-smi", `
GPU[0]		: VRAM Total Used Memory (B): 10485760
GPU[0]		: VRAM Total Memory (B): 17163091968
GPU[0]		: VRAM Total Used Memory (B): 104`, `
1 checkpoint "rocm-smi" used=10MiB
2 checkpoint "rocm-smi" total=16368MiB
`},
		{"rocm-smi --json", `
{"card0": {"VRAM Total Memory (B)": "17163091968", "VRAM Total Used Memory (B)": "104`, `
1 checkpoint "rocm-smi" total=16368MiB
`},
	} {
		t.Run(c.Name, func(t *testing.T) {
			dialecttest.Compare(t, c.Want, dialecttest.Show(t, dialecttest.Batches(c.Log, all)))
		})
	}
}

// TestFindHeadless: rows without a header are found in a log without readings, also if they are
// plain numbers.
func TestFindHeadless(t *testing.T) {
	for _, c := range []struct {
		name, log string
		line      int // 0 for no row
	}{
		{"time and numbers", "2026/11/20 02:00:01.123, 0, 12345\n", 1},
		{"behind other lines", "starting\n\n2026/11/20 02:00:01.123, 0, 12345\n", 3},
		{"numbers", "starting\n0, 12345, 40960\n0, 12346, 40960\n", 2},
		{"behind a logger", "2026-11-20 02:00:03,123 - INFO - 0, NVIDIA A40, 12345, 46068\n", 1},
		{"in Docker's log", `{"log":"GPU-4d9f, 12345, 46068\n","stream":"stdout"}` + "\n", 1},
		{"dmon", "    0    62    27     -     7     1\n    1    62    27     -     7     1\n", 1},
		{"one line of numbers", "0, 12345, 40960\n", 0},
		{"a header of another program", "epoch,loss\n1,0.5\n2,0.4\n", 0},
		{"a header without memory", "timestamp, index, utilization.gpu [%]\n" +
			"2026/11/20 02:00:01.123, 0, 45\n", 0},
		{"sentences", "one, two, 3\nWe saw 12, 13 and 14, in all\n", 0},
		{"nothing", "", 0},
	} {
		bad, ok := smi.FindHeadless([]byte(c.log), "run.log")
		if ok != (c.line > 0) || bad.Pos.Line != c.line {
			t.Errorf("%s: got %t, %v", c.name, ok, bad)
		}
	}
}
