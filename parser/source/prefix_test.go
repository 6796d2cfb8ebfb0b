package source

import (
	"strings"
	"testing"

	"vramsoak/parser/lex"
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

// TestMessageStart: the message begins behind the prefix of a logger, "^". The text ends before a
// record.
func TestMessageStart(t *testing.T) {
	for _, line := range []string{
		"2026-11-20 02:00:03.123 | INFO     | __main__:run:41 - ^Epoch 3 start",
		"2026-11-20 02:00:03.123 | SUCCESS  | asr.run:<module>:41 - ^Epoch 3 start",
		"INFO:asr.run:DEBUG:root:^Epoch 3 start",
		"2026-11-20 02:00:03,123 - asr.run - INFO - DEBUG:gpu_memory:^Epoch 3 start",
		"INFO 11-20 02:00:03 [core.py:708] ^Epoch 3 start",
		"INFO:root:^RuntimeError: the worker died",
		"2026-11-20 02:00:03,123 - ERROR - ^KeyError: the worker died",
	} {
		before, message, _ := strings.Cut(line, "^")
		if n := MessageStart([]byte(before + message)); n != len(before) {
			t.Errorf("%s: expected %d, found %d", line, len(before), n)
		}
	}
}

// TestEndsInLogger: a text that ends in a level, or in Loguru's place, is a logger's and no name.
func TestEndsInLogger(t *testing.T) {
	for text, want := range map[string]bool{
		"2026-11-20 02:00:03,123 - asr.run - INFO":                 true,
		"[2026-11-20 02:00:03,123] [INFO]":                         true,
		"2026-11-20 02:00:03.123 | INFO     | __main__:run:41":     true,
		"INFO     | asr.run:<module>:41 ":                          true,
		"2026-11-20 02:00:03,123 - asr.run - INFO - Epoch 3 start": false,
		"INFORMATION": false,
		"stage:2":     false,
		"":            false,
	} {
		if got := EndsInLogger([]byte(text)); got != want {
			t.Errorf("%s: expected %t, found %t", text, want, got)
		}
	}
}

// TestLevels: each level is read in prefixes, and none is the name of a process.
func TestLevels(t *testing.T) {
	for level := range strings.SplitSeq(lex.Levels, "|") {
		prefix := "2026-11-20 02:00:03,123 - asr - " + level + " - "
		if n := LoggerEnd([]byte(prefix + "hello")); n != len(prefix) {
			t.Errorf("LoggerEnd %s: expected %d, found %d", level, len(prefix), n)
		}
		if n := MessageStart([]byte(prefix + "hello")); n != len(prefix) {
			t.Errorf("MessageStart %s: expected %d, found %d", level, len(prefix), n)
		}
		if isToken([]byte(level)) || !isCounter([]byte(strings.ToLower(level)+"1")) {
			t.Errorf("%s is no name of a process", level)
		}
	}
}

// TestWriterIn: the name of a process counts before and behind a logger's prefix.
func TestWriterIn(t *testing.T) {
	for before, want := range map[string]string{
		"[Rank 7] ": "rank 7",
		"2026-11-20 02:00:03,123 | rank1 | INFO | ":                  "rank 1",
		"INFO:asr.run:[rank3]: ":                                     "rank 3",
		"INFO:asr.run:[default3]:":                                   "rank 3",
		"2026-11-20 02:00:03,123 - asr.run - INFO - [default3]:":     "rank 3",
		"2026-11-20 02:00:03,123 - asr.run - INFO - [1,3]<stdout>:":  "rank 3",
		"2026-11-20 02:00:03.123 | INFO     | a:b:41 - [rank1]: ":    "rank 1",
		"INFO:asr.run:(EngineCore pid=5) ":                           "EngineCore pid=5",
		"2026-11-20 02:00:03,123 - asr.run - INFO - no process pid ": "",
	} {
		if got := string(WriterIn([]byte(before))); got != want {
			t.Errorf("%s: expected %q, found %q", before, want, got)
		}
	}
}
