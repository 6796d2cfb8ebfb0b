package scan

import (
	"testing"

	"vramsoak/parser/source"
)

// TestHead reads the parts of a line before a record: the rank, the words of the message, and the
// process. The record is "CUDA error".
func TestHead(t *testing.T) {
	type head struct {
		time    string
		rank    int
		words   string
		speaker string
	}
	for line, want := range map[string]head{
		"CUDA error": {},
		"2026-11-20 02:00:03,123 - worker-3 - ERROR - while loading: CUDA error": {
			time: "2026-11-20T02:00:03.123", words: "while loading: ", speaker: "worker-3",
		},
		"[rank3]: CUDA error":                      {rank: 3, speaker: "rank 3"},
		"[default3]:CUDA error":                    {rank: 3, speaker: "rank 3"},
		"worker-1  | CUDA error":                   {speaker: "worker-1"},
		"(EngineCore_DP0 pid=964370) CUDA error":   {speaker: "rank 0"},
		"12:00:00 | WARNING | [rank12] CUDA error": {time: "12:00:00.000", rank: 12, speaker: "rank 12"},
		// A wrapper's whole second gets the fraction of the program's time, whatever its zone.
		"Nov 20 02:00:03 2026-11-20T02:00:03.123Z CUDA error": {time: "2026-11-20T02:00:03.123Z"},
		"2026-11-20T02:00:03+0000 gpu1 asr[7]: 2026-11-20T02:00:03.123Z CUDA error": {
			time: "2026-11-20T02:00:03.123Z", speaker: "gpu1 asr[7]",
		},
		"2026-11-20T02:00:04Z 2026-11-20 04:00:03,900 - INFO - CUDA error": {
			time: "2026-11-20T02:00:03.900Z",
		},
		"2026-11-20T02:00:04Z 2026-11-20 04:00:33,900 - INFO - CUDA error": {
			time: "2026-11-20T02:00:04.000Z",
		},
		"2026-11-20T02:00:04.5Z 2026-11-20 04:00:03,900 - INFO - CUDA error": {
			time: "2026-11-20T02:00:04.500Z",
		},
		`{"log":"[rank1]: CUDA error\n","time":"2026-11-20T02:00:03Z"}`: {
			time: "2026-11-20T02:00:03.000Z", rank: 1, speaker: "rank 1",
		},
	} {
		var found head
		d := Dialect{Name: "test", Needles: []string{"CUDA error"}, Read: func(l *Line, at int) int {
			h := l.Head(at)
			found = head{l.Header(at).FormatTime(), h.Rank(), string(h.Words()), h.speaker(at)}
			return at + 1
		}}
		win := source.OneLine([]byte(line))
		NewScanner("log", NewDialects([]*Dialect{&d})).Scan(win, nil, &Batch{})
		if found != want {
			t.Errorf("%s: expected %+v, found %+v", line, want, found)
		}
	}
}
