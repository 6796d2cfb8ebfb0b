package smi_test

import (
	"testing"

	"vramsoak/parser/dialect/dialecttest"
	"vramsoak/parser/dialect/smi"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

var all = []*scan.Dialect{&smi.CSV, &smi.Table, &smi.Dmon, &smi.Gpustat, &smi.ROCm}

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

func TestTable(t *testing.T) {
	dialecttest.Run(t, all, []dialecttest.Case{
		{"a table", `
Sun Jan 25 17:25:39 2026
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 580.95.05              Driver Version: 580.95.05      CUDA Version: 13.0     |
+-----------------------------------------+------------------------+----------------------+
|   1  NVIDIA A40                     On  |   00000000:CA:00.0 Off |                    0 |
|  0%   35C    P0             99W /  300W |    1835MiB /  46068MiB |     30%      Default |
+-----------------------------------------+------------------------+----------------------+
|    1   N/A  N/A         2123797      C   /opt/conda/envs/aucum/bin/python       1826MiB |
+-----------------------------------------------------------------------------------------+
`, `
6 checkpoint "nvidia-smi" gpu1 total=46068MiB used=1835MiB
8 checkpoint "process 2123797 (python)" gpu1 buffer=1826MiB pid=2123797
`},
		{"the MB of an old driver are MiB", `
| 0.  Tesla C2050               | 0000:05:00.0  On     |         0          0 |
|  30%   62 C  P0    N/A /  N/A |   3%   70MB / 2687MB |   44%     Default    |
`, `
2 checkpoint "nvidia-smi" total=2687MiB used=70MiB
`},
		{"a MIG device, and the BAR1 window below it", `
|  0    3   0   0  |              12MiB /  5952MiB  | 14      0 |  1   0    1    0    0 |
|                  |               0MiB /  8191MiB  |           |                       |
`, `
1 checkpoint "MIG device 0" buffer=12MiB
`},
		{"a torn row", `
|   0  NVIDIA A40                     On  |   00000000:CA:00.0 Off |                    0 |
|  0%   35C    P0             99W /  300W |    1835MiB /  460
|  0%   35C    P0             99W /  300W |    1835MiB /  4606MiB
`, `
2 unreadable: expected used and total memory such as 1835MiB / 46068MiB, found "1835MiB /  460"
3 unreadable: expected used and total memory such as 1835MiB / 46068MiB, found "1835MiB /  4606MiB"
`},
		{"not supported", `
|  0%   35C    P0             99W /  300W |        N/A /  46068MiB |     30%      Default |
`, ``},
		{"lines of other programs between the rows of a device", `
Sun Jan 25 17:25:39 2026
+-----------------------------------------+------------------------+----------------------+
step 1 loss 3.2
| NVIDIA-SMI 580.95.05              Driver Version: 580.95.05      CUDA Version: 13.0     |
+-----------------------------------------+------------------------+----------------------+
|   0  NVIDIA A40                     On  |   00000000:CA:00.0 Off |                    0 |
step 2 loss 3.1
|  0%   35C    P0             99W /  300W |    1835MiB /  46068MiB |     30%      Default |
|                                         |                        |                  N/A |
+-----------------------------------------+------------------------+----------------------+
|   1  NVIDIA A40                     On  |   00000000:CB:00.0 Off |                    0 |
+------+------+
| step | loss |
|    3 | 3.00 |
+------+------+

|  0%   35C    P0             99W /  300W |    1836MiB /  46068MiB |     30%      Default |
|                                         |                        |                  N/A |
`, `
8 checkpoint "nvidia-smi" total=46068MiB used=1835MiB
17 checkpoint "nvidia-smi" gpu1 total=46068MiB used=1836MiB
`},
		{"the row that names the device is lost", `
|   0  NVIDIA A40                     On  |   00000000:CA:00.0 Off |                    0 |
| N/A   35C    P0             99W /  300W |   N/A          |     30%      Default |
|                                         |                        |                  N/A |
+-----------------------------------------+------------------------+----------------------+
|   1  NVIDIA A40             step 3 loss 3.00
|  0%   35C    P0             99W /  300W |    1836MiB /  46068MiB |     30%      Default |
|                                         |                        |                  N/A |
+-----------------------------------------+------------------------+----------------------+
|   2  NVIDIA A40                     On  |   00000000:CC:00.0 Off |                    0 |
|  0%   35C    P0             99W /  300W |    1837MiB /  46068MiB |     30%      Default |
|  0%   35C    P0             99W /  300W |    1838MiB /  46068MiB |     30%      Default |
`, `
6 unreadable: expected above such memory the row that names its device, such as | 0 NVIDIA A40 On | 00000000:CA:00.0 Off |, found "1836MiB /  46068MiB |     30%      Default |"
10 checkpoint "nvidia-smi" gpu2 total=46068MiB used=1837MiB
11 unreadable: expected above such memory the row that names its device, such as | 0 NVIDIA A40 On | 00000000:CA:00.0 Off |, found "1838MiB /  46068MiB |     30%      Default |"
`},
		{"rows alone: one device, then two", `
|  0%   35C    P0             99W /  300W |    1836MiB /  46068MiB |     30%      Default |
step 1
|  0%   35C    P0             99W /  300W |    1837MiB /  46068MiB |     30%      Default |
step 2
|  0%   35C    P0             99W /  300W |    1838MiB /  46068MiB |     30%      Default |
|  0%   35C    P0             99W /  300W |    1839MiB /  46068MiB |     30%      Default |
`, `
1 checkpoint "nvidia-smi" total=46068MiB used=1836MiB
3 checkpoint "nvidia-smi" total=46068MiB used=1837MiB
5 unreadable: expected above such memory the row that names its device, such as | 0 NVIDIA A40 On | 00000000:CA:00.0 Off |, found "1838MiB /  46068MiB |     30%      Default |"
6 unreadable: expected above such memory the row that names its device, such as | 0 NVIDIA A40 On | 00000000:CA:00.0 Off |, found "1839MiB /  46068MiB |     30%      Default |"
`},
		{"tables of two processes of a launcher, and of a logger", `
0: |   1  NVIDIA A40                     On  |   00000000:CA:00.0 Off |                    0 |
1: |   2  NVIDIA A40                     On  |   00000000:CB:00.0 Off |                    0 |
0: |  0%   35C    P0             99W /  300W |    1835MiB /  46068MiB |     30%      Default |
1: |  0%   35C    P0             99W /  300W |    1836MiB /  46068MiB |     30%      Default |
2026-11-20 02:00:03,123 - INFO - |   3  NVIDIA A40          On  |   00000000:CD:00.0 Off |       0 |
2026-11-20 02:00:03,124 - WARNING - |  0%   35C    P0   99W /  300W |    1837MiB /  46068MiB |  Default |
`, `
3 checkpoint "nvidia-smi" gpu1 total=46068MiB used=1835MiB
4 checkpoint "nvidia-smi" gpu2 total=46068MiB used=1836MiB
6 checkpoint "nvidia-smi" gpu3 total=46068MiB used=1837MiB
`},
		{"another box", `
| disk         |  12MiB / 5952MiB  | ok |
| 3 files      |  12MiB |
| 4711 files copied, 3 left  12MiB |
`, ``},
		{"nvidia-smi -q", `
==============NVSMI LOG==============
GPU 00000000:01:00.0
    FB Memory Usage
        Total                             : 49140 MiB
        Reserved                          : 569 MiB
        Used                              : 12 MiB
        Free                              : 48559 MiB
    BAR1 Memory Usage
        Total                             : 65536 MiB
        Used                              : 1 MiB
        Free                              : 65535 MiB
GPU 00000000:02:00.0
    FB Memory Usage
        Total                             : 49140 MiB
        Used                              : 13 M
`, `
3 checkpoint "nvidia-smi" total=49140MiB free=48559MiB used=12MiB
13 checkpoint "nvidia-smi" gpu1 total=49140MiB used=13MiB
`},
	})
}

// TestQuery: the sizes of nvidia-smi -q belong to the device that is named above them, also among
// the lines of other programs and if the log's beginning is missing.
func TestQuery(t *testing.T) {
	dialecttest.Run(t, all, []dialecttest.Case{
		{"a line of another program between the sizes", `
==============NVSMI LOG==============
GPU 00000000:01:00.0
    FB Memory Usage
        Total                             : 49140 MiB
step 1 loss 3.2
        Used                              : 12 MiB
        Free                              : 49128 MiB
    BAR1 Memory Usage
        Total                             : 65536 MiB
`, `
3 checkpoint "nvidia-smi" total=49140MiB free=49128MiB used=12MiB
`},
		{"the beginning is missing", `
GPU 00000000:01:00.0
    FB Memory Usage
        Total                             : 49140 MiB
        Used                              : 12 MiB
GPU 00000000:02:00.0
    FB Memory Usage
        Total                             : 49140 MiB
        Used                              : 13 MiB
`, `
2 checkpoint "nvidia-smi" total=49140MiB used=12MiB
6 checkpoint "nvidia-smi" gpu1 total=49140MiB used=13MiB
`},
		{"nothing names the devices", `
    FB Memory Usage
        Used                              : 12 MiB
    FB Memory Usage
        Used                              : 13 MiB
`, `
1 checkpoint "nvidia-smi" used=12MiB
3 unreadable: expected above such a section the line that names its device, such as GPU 00000000:01:00.0, found "Memory Usage"
`},
	})
}

func TestDmon(t *testing.T) {
	dialecttest.Run(t, all, []dialecttest.Case{
		{"devices", `
# gpu   pwr    sm    fb  bar1
# Idx     W     %    MB    MB
    0    62     7  1234    12
    1     -     -     -     -
    1    62     7  1235    12
`, `
3 checkpoint "nvidia-smi dmon" used=1234MiB
5 checkpoint "nvidia-smi dmon" gpu1 used=1235MiB
`},
		{"a process, and its date", `
#Date       Time        gpu        pid  type    fb   command
#YYYYMMDD   HH:MM:SS    Idx          #   C/G    MB   name
 20261120   02:00:03      1       1234     C  5678   python
`, `
3 checkpoint "process 1234 (python)" gpu1 buffer=5678MiB pid=1234
`},
		{"a torn row", `
# gpu   pwr    sm    fb  bar1
# Idx     W     %    MB    MB
    0    62     7  12
`, `
3 unreadable: expected a row of 5 columns, as in the header, found "    0    62     7  12"
`},
		{"a sentence, and numbers behind it", `
# gpu is too hot
    0    62     7  1234    12
`, ``},
		{"behind a logger's prefix, whose length changes", `
2026-11-20 02:00:03,123 - INFO - # gpu   pwr    sm    fb  bar1
2026-11-20 02:00:03,123 - INFO - # Idx     W     %    MB    MB
2026-11-20 02:00:03,124 - INFO -     0    62     7  1234    12
2026-11-20 02:00:04,124 - WARNING -     1    62     7  1235    12
`, `
3 checkpoint "nvidia-smi dmon" used=1234MiB
4 checkpoint "nvidia-smi dmon" gpu1 used=1235MiB
`},
		{"one message of a logger with several lines", `
2026-11-20 02:00:03,123 - INFO - # gpu   pwr    sm   mem   enc   dec   jpg   ofa    fb  bar1
# Idx     W     %     %     %     %     %     %    MB    MB
    1    62     7     8     9    10    11    12  1234    12
`, `
3 checkpoint "nvidia-smi dmon" gpu1 used=1234MiB
`},
		{"columns that a newer driver adds", `
# gpu    fb   sma
# Idx    MB     %
    1  1234     5
`, `
3 checkpoint "nvidia-smi dmon" gpu1 used=1234MiB
`},
		{"no column of memory", `
# gpu   pwr    sm
    0    62     7
`, ``},
	})
}

func TestOtherTools(t *testing.T) {
	dialecttest.Run(t, all, []dialecttest.Case{
		{"gpustat", `
node1  Fri Nov 20 02:00:03 2026  535.54.03
[0] NVIDIA GeForce RTX 3090 | 45'C,  12 %,  18 / 350 W |  1234 / 24576 MB | user(567M)
[1] NVIDIA GeForce RTX 3090 | 45'C,   ? %,  18 / 350 W |  1235 / 24576 MB |
`, `
2 checkpoint "gpustat" total=24576MiB used=1234MiB
3 checkpoint "gpustat" gpu1 total=24576MiB used=1235MiB
`},
		{"gpustat behind a logger's brackets", `
[INFO] [1] NVIDIA GeForce RTX 3090 | 45'C,  12 % |  1234 / 24576 MB |
`, `
1 checkpoint "gpustat" gpu1 total=24576MiB used=1234MiB
`},
		{"a progress bar is not gpustat", `
[0] part 1 of 2 | 1234 / 24576 MB | 12 MB/s
`, ``},
		{"rocm-smi", `
GPU[1]		: VRAM Total Memory (B): 17163091968
GPU[1]		: VRAM Total Used Memory (B): 10485760
GPU[1]		: VIS_VRAM Total Memory (B): 268435456
`, `
1 checkpoint "rocm-smi" gpu1 total=16368MiB used=10MiB
`},
		{"rocm-smi --json", `
{"card0": {"VRAM Total Memory (B)": "17163091968", "VRAM Total Used Memory (B)": "10485760"}, "card1": {"VRAM Total Memory (B)": "17163091968", "VRAM Total Used Memory (B)": "20971520"}}
`, `
1 checkpoint "rocm-smi" total=16368MiB used=10MiB
1 checkpoint "rocm-smi" gpu1 total=16368MiB used=20MiB
`},
		{"used memory of another device than the total", `
GPU[0]		: VRAM Total Memory (B): 17163091968
GPU[1]		: VRAM Total Used Memory (B): 10485760
`, `
1 checkpoint "rocm-smi" total=16368MiB
2 checkpoint "rocm-smi" gpu1 used=10MiB
`},
		{"a torn line", `
GPU[0]		: VRAM Total Memory (B): 
GPU[0]		: VRAM Total Memory (B)
`, ``},
	})
}

func TestDriverNumbers(t *testing.T) {
	for dialect, want := range map[string]bool{
		smi.CSV.Name: true, smi.Table.Name: true, smi.ROCm.Name: true, "deepspeed": false,
	} {
		c := record.Checkpoint{Header: record.Header{Dialect: dialect}}
		if got := smi.DriverNumbers(&c); got != want {
			t.Errorf("%s: got %t", dialect, got)
		}
	}
}
