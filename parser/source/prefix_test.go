package source

import (
	"strings"
	"testing"
)

// TestLoggerEnd: a line is cut where a logger's prefix ends and the message begins, "^".
func TestLoggerEnd(t *testing.T) {
	for _, line := range []string{
		"2026-11-20 02:00:03,123 - asr.run - INFO -   ^Memory: 3 GB",
		"2026-11-20 02:00:03.123 | INFO     | __main__:run:41 -   ^Memory: 3 GB",
		"2026-11-20 02:00:03.123 | SUCCESS  | asr.run:<module>:41 - ^| Allocated memory |",
		"[2026-11-20 02:00:03,123] [INFO] ^Memory: 3 GB",
		"[2026-11-20 02:00:03,123][asr.run][INFO] - ^Memory: 3 GB",
		"2026-11-20 02:00:03,123 [4711] [WARNING] [asr.run] ^Memory: 3 GB",
		"2026-11-20 02:00:03,123 INFO asr.run: ^Memory: 3 GB",
		"11/20/2026 02:00:03 - INFO - __main__ -   ^Memory: 3 GB",
		"INFO:asr.run:  ^Memory: 3 GB",
		"INFO:root:DEBUG:asr.run:^Allocated: 3 GB",
		"INFO:root:^| Allocated memory |",
		"[2026-11-20 02:00:03.123] [INFO] ^| Allocated memory |",
		"2026-11-20 02:00:03,123 INFO ^|====|",
		"[INFO] ^Memory: 3 GB",
		"WARNING: ^Memory: 3 GB",
		"INFO 11-20 02:00:03 [core.py:708] ^Memory: 3 GB",
		"INFO 2026-11-20 02:00:03.123 run.py:41] ^Memory: 3 GB",
		"[INFO|trainer.py:2128] 2026-11-20 02:00:03,123 >> ^Memory: 3 GB",
		"I1120 02:00:03.123456    4711 run.cc:41] ^Memory: 3 GB",
		// These have no prefix.
		"^Memory ERROR: 3 GB",
		"^ERROR while loading",
		"^| Allocated memory | 3 GB |",
		"^2026/11/20 02:00:03.123, 0, 3 MiB",
		"^  Memory: 3 GB",
		"^Allocated: 3 GB",
		"^",
	} {
		before, message, _ := strings.Cut(line, "^")
		if n := LoggerEnd([]byte(before + message)); n != len(before) {
			t.Errorf("%s: expected %d, found %d", line, len(before), n)
		}
	}
}
