package smi_test

import (
	"testing"

	"vramsoak/parser/dialect/dialecttest"
	"vramsoak/parser/dialect/smi"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

var all = []*scan.Dialect{&smi.CSV, &smi.Table, &smi.Dmon, &smi.Gpustat, &smi.ROCm}

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
4 checkpoint "nvidia-smi" gpu2 rank1 total=46068MiB used=1836MiB
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
