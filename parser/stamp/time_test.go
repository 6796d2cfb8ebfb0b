package stamp

import (
	"strings"
	"testing"
	"time"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
)

// render returns a stamp as the table below writes it, without the parts that the stamp lacks.
func (s Stamp) render() string {
	layout := "2006-01-02T15:04:05.999999999"
	switch {
	case s.IsZero():
		return ""
	case s.dateless:
		layout = "15:04:05.999999999"
	case s.yearless:
		layout = "--01-02T15:04:05.999999999"
	}
	if !s.local {
		layout += "Z"
	}
	return s.Format(layout)
}

// TestFindTime lists times as programs write them in logs. The sign "|" in a line marks the place
// of the record. Behind the record, only times after a key are found.
func TestFindTime(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		// ISO 8601 and similar forms.
		{"2026-11-20T02:00:03.123Z |", "2026-11-20T02:00:03.123Z"},
		{"2026-11-20T02:00:03Z |", "2026-11-20T02:00:03Z"},
		{"2026-11-20t02:00:03z |", "2026-11-20T02:00:03Z"},
		{"2026-11-20T02:00:03.123456789Z |", "2026-11-20T02:00:03.123456789Z"},
		{"2026-11-20T02:00:03.1234567891234Z |", "2026-11-20T02:00:03.123456789Z"},
		{"2026-11-20T02:00:03.1+01:00 |", "2026-11-20T01:00:03.1Z"},
		{"2026-11-20T02:00:03+0100 |", "2026-11-20T01:00:03Z"},
		{"2026-11-20 02:00:03+01 |", "2026-11-20T01:00:03Z"},
		{"2026-11-20 02:00:03-08 |", "2026-11-20T10:00:03Z"},
		{"2026-11-20 02:00:03 -0800 |", "2026-11-20T10:00:03Z"},
		{"2026-11-20 02:00:03 +05:30 |", "2026-11-19T20:30:03Z"},
		{"2026-11-20 02:00:03.123 UTC [1] LOG: |", "2026-11-20T02:00:03.123Z"},
		{"2026-11-20 02:00:03 GMT |", "2026-11-20T02:00:03Z"},
		{"2026-11-20 02:00:03 UTCX |", "2026-11-20T02:00:03"},
		{"2026-11-20 02:00:03 CET |", "2026-11-20T02:00:03"}, // the name of a time zone is ambiguous
		{"[2026-11-20 02:00:03 +0000] [7] [INFO] |", "2026-11-20T02:00:03Z"},
		{"[2026-01-10 02:14:07.123] [INFO] |", "2026-01-10T02:14:07.123"},
		{"2026-01-10 02:14:07,123 - pipeline - INFO - |", "2026-01-10T02:14:07.123"},
		{"2026-01-10 02:14:07 -12 MiB |", "2026-01-10T02:14:07"},
		{"2026-01-10 02:14:07 - 1 |", "2026-01-10T02:14:07"},
		{"2025/06/13 00:27:53.196, 0, Tesla V100S-PCIE-32GB, |", "2025-06-13T00:27:53.196"},
		{"2023-10-02 16:36:14.407713: I tensorflow/tsl |", "2023-10-02T16:36:14.407713"},
		{"[2024-03-27 22:09] ** Python |", "2024-03-27T22:09:00"},
		{"2024-03-27T22:09Z |", "2024-03-27T22:09:00Z"},
		{"2026-11-20 2:00:03 |", "2026-11-20T02:00:03"},
		{"2026-11-20, 02:00:03 |", "2026-11-20T02:00:03"},
		{"2026-11-20_02:00:03 |", "2026-11-20T02:00:03"},
		{"job-2026-11-20 02:00:03 |", "2026-11-20T02:00:03"},
		{"[rank0] 2026-11-20 02:00:03 |", "2026-11-20T02:00:03"},
		{"2024-02-29 23:59:60 |", "2024-03-01T00:00:00"},
		// Other orders of a date.
		{"11/20/2026 02:00:03 - INFO - __main__ - |", "2026-11-20T02:00:03"},
		{"20/11/2026 02:00:03 |", "2026-11-20T02:00:03"},
		{"20.11.2026 02:00:03 |", "2026-11-20T02:00:03"},
		{"11/20/2026 02:00:03 PM |", "2026-11-20T14:00:03"},
		{"11/20/2026 2:00:03 PM |", "2026-11-20T14:00:03"},
		{"11/20/2026 12:00:03 AM |", "2026-11-20T00:00:03"},
		{"26/11/20 02:00:03 INFO SparkContext: |", "2026-11-20T02:00:03"},
		{"[11/20/26 02:00:03] INFO |", "2026-11-20T02:00:03"},
		{"20-Nov-26 02:00:03 - |", "2026-11-20T02:00:03"},
		{"20-Nov-2026 02:00:03 - |", "2026-11-20T02:00:03"},
		{"20 Nov 2026 02:00:03 |", "2026-11-20T02:00:03"},
		{"Fri, 20 Nov 2026 02:00:03 GMT |", "2026-11-20T02:00:03Z"},
		{"Fri Nov 20 02:00:03 2026 |", "2026-11-20T02:00:03"},
		{"Fri Nov 20 02:00:03 2026       \n", "2026-11-20T02:00:03"},
		{"Tue Nov  3 02:00:03 2026 |", "2026-11-03T02:00:03"},
		{"Fri Nov 20 02:00:03 UTC 2026 |", "2026-11-20T02:00:03Z"},
		{"Fri Nov 20 02:00:03 CET 2026 |", "2026-11-20T02:00:03"},
		{"Fri Nov 20 02:00:03 PM UTC 2026 |", "2026-11-20T14:00:03Z"},
		{"Nov 20, 2026 2:00:03 AM |", "2026-11-20T02:00:03"},
		{"Nov 20 2026 02:00:03 |", "2026-11-20T02:00:03"},
		{`10.0.0.1 - - [20/Nov/2026:02:00:03 +0000] "GET |`, "2026-11-20T02:00:03Z"},
		{`10.0.0.1:80 - - [20/Nov/2023:02:00:03 -0100] "GET |`, "2023-11-20T03:00:03Z"},
		{"20261120T020003Z |", "2026-11-20T02:00:03Z"},
		{"20261120T020003.5+0100 |", "2026-11-20T01:00:03.5Z"},
		{"20261120T020003 |", "2026-11-20T02:00:03"},
		{"20261120 02:00:03,123 |", "2026-11-20T02:00:03.123"},
		{"I20261120 02:00:03.123456 123 file.cc:12] |", "2026-11-20T02:00:03.123456"},
		// No year.
		{"Nov 20 02:00:03 host python[12]: |", "--11-20T02:00:03"},
		{"Nov  3 02:00:03 host python[12]: |", "--11-03T02:00:03"},
		{"Feb 29 02:00:03 host 2048 |", "--02-29T02:00:03"},
		{"Nov 20 02:00:03 GPU 2048 MiB |", "--11-20T02:00:03"},
		{"I1120 02:00:03.123456   2026 file.cc:12] |", "--11-20T02:00:03.123456"},
		{
			"(EngineCore_DP0 pid=964370) INFO 03-09 09:32:24 [gpu_model_runner.py:5360] |",
			"--03-09T09:32:24",
		},
		{"INFO 12-15 19:05:24 [gpu_model_runner.py:2634] |", "--12-15T19:05:24"},
		{"11-20 02:00:03.123  1234  1234 I tag: |", "--11-20T02:00:03.123"},
		{"[06/17 13:36:46 d2.engine.train_loop]: |", "--06-17T13:36:46"},
		{"06/17 13:36:46 - mmengine - INFO - |", "--06-17T13:36:46"},
		// No date.
		{"02:00:03 |", "02:00:03"},
		{"02:00:03.123 |", "02:00:03.123"},
		{"[02:00:03,123] |", "02:00:03.123"},
		{"[10:04:02 PM][foremans@x4415c0s2b0n0] |", "22:04:02"},
		{"02:00:03Z |", "02:00:03Z"},
		{"02:00:03+05:00 |", "21:00:03Z"},
		{"Dec 31 23:00:03 -0800 |", "--01-01T07:00:03Z"},
		{"[rank0] [02:00:03] |", "02:00:03"},
		{"[default0]:02:00:03 |", "02:00:03"},
		{"rank0: 02:00:03 |", "02:00:03"},
		{"SUCCESS: 02:00:03 |", "02:00:03"},
		{"TRACE 02:00:03 - |", "02:00:03"},
		{"INFO: 02:00:03 |", "02:00:03"},
		{"INFO 02:00:03 - |", "02:00:03"},
		{"worker-1  | 02:00:03 INFO |", "02:00:03"},
		{"[1051543][23:16:01:785372][error ] |", "23:16:01.785372"},
		{"2342727,15:47:02.841977,free,0x10012400000,1048576,0 |", "15:47:02.841977"},
		{`{"log":"02:00:03 |`, "02:00:03"},
		// Seconds since 1970: 1700000000 is 2023-11-14T22:13:20Z by date -u -d @1700000000.
		{"1700000000.123 |", "2023-11-14T22:13:20.123Z"},
		{"[1700000000.123] |", "2023-11-14T22:13:20.123Z"},
		{"1700000000 |", "2023-11-14T22:13:20Z"},
		{"1700000000123 |", "2023-11-14T22:13:20.123Z"},
		{"1700000000123456789 |", "2023-11-14T22:13:20.123456789Z"},
		{`{"ts": 1700000000.123, "msg": "|`, "2023-11-14T22:13:20.123Z"},
		{"level=info ts=1700000000.5 msg=|", "2023-11-14T22:13:20.5Z"},
		// These lines have a time behind the record that is more complete than the one before it.
		{
			`{"log":"| A","stream":"stderr","time":"2026-11-20T02:00:03.123456789Z"}`,
			"2026-11-20T02:00:03.123456789Z",
		},
		{`{"log":"2026-11-20 04:00:03 | A","time":"2026-11-20T02:00:03.1Z"}`, "2026-11-20T02:00:03.1Z"},
		{`{"message": "|", "asctime": "2026-11-20 02:00:03,123"}`, "2026-11-20T02:00:03.123"},
		{`{"message": "|", "timestamp": "20261120T020003Z"}`, "2026-11-20T02:00:03Z"},
		{`{"message": "|", "timestamp": 1700000000123}`, "2023-11-14T22:13:20.123Z"},
		{`level=info msg="|" time=2026-11-20T02:00:03Z`, "2026-11-20T02:00:03Z"},
		{`{"log":"{\"message\": \"|\", \"time\": \"2026-11-20T02:00:03Z\"}`, "2026-11-20T02:00:03Z"},
		{"Nov 20 02:00:03 host python[12]: 2026-11-20 02:00:03,123 INFO |", "2026-11-20T02:00:03.123"},
		{"[02:00:03] 2026-11-20T02:00:03Z |", "2026-11-20T02:00:03Z"},
		// Numbers that are not a time.
		{"Epoch: [0]  [120/128]  eta: 0:12:43  lr: 0.000100 |", ""},
		{"Epoch: [0]  [120/128]  eta: 10:12:43  lr: 0.000100 |", ""},
		{"Epoch: [0] [10:12:43] |", ""},
		{"Epoch 1 (00:12:43) |", ""},
		{"eta: 1 day, 10:12:43 |", ""},
		{"Training time 10:12:43 |", ""},
		{"Total time: 10:12:43 |", ""},
		{`{"eta": "10:12:43", "msg": "|`, ""},
		{"elapsed=10:12:43 |", ""},
		{" 50%|█████     | 10/20 [10:02:03<10:00:00, 3600.00s/it] |", ""},
		{"Epoch 0/9 ━━━ 10/20 10:02:03 • 0:00:00 |", ""},
		{"01-02:03:04 |", ""}, // Slurm prints days, then hours
		{"[00:01:02.000 --> 00:01:05.000]   so |", ""},
		{"00:01:02 / 01:00:00 |", ""},
		{"12:34 |", ""},
		{"v1.2.3 |", ""},
		{"10.0.0.1:8080 |", ""},
		{"00:1a:2b:3c:4d:5e |", ""},
		{"00:11:22:33:44:55 |", ""},
		{"fe80::12:34:56:78 |", ""},
		{"00000000:01:00.0 |", ""},
		{"gpu_model_runner.py:123 |", ""},
		{"[2026-11-20] |", ""},
		{"2026-11-20 |", ""},
		{"20261120 |", ""},
		{"2026-13-20 02:00:03 x |", ""},
		{"2026-02-30 02:00:03 x |", ""},
		{"2026-11-20 25:00:03 x |", ""},
		{"2026-11-20 02:61:03 |", ""},
		{"[12345.678901] |", ""},
		{"1234567 |", ""},
		{"9999999999 |", ""},
		{"1700000000 bytes |", ""},
		{"allocated 1700000000 |", ""},
		{`{"step": 1700000000, "time": 0.5, "msg": "|`, ""},
		{"ratio 16:9:12 |", ""},
		{"", ""},
		{":", ""},
		{"1:", ""},
		{"::::", ""},
	} {
		before, found := strings.CutSuffix(c.line, "|") // the line may contain another |
		if !found {
			before, _, _ = strings.Cut(c.line, "|")
		}
		var last Last
		for _, line := range []string{c.line, otherDigits(c.line, 1), c.line} {
			if got := stampOf([]byte(line), len(before), &last).render(); line == c.line && got != c.want {
				t.Errorf("%q: got %q, want %q", c.line, got, c.want)
			}
		}
	}
}

// TestFindTimeRoundTrip: every second of a day and every day of a leap year is read back.
func TestFindTimeRoundTrip(t *testing.T) {
	at := time.Date(2024, 1, 1, 0, 0, 0, 5e6, time.UTC)
	for range 366 * 25 {
		at = at.Add(57*time.Minute + 36*time.Second)
		for _, layout := range []string{
			time.RFC3339Nano, "2006/01/02 15:04:05.000", time.ANSIC, time.UnixDate, time.RFC1123Z,
			"02/Jan/2006:15:04:05 -0700",
			"01/02/2006 15:04:05", "20060102T150405.000Z0700", "Jan 2, 2006 3:04:05 PM",
			"06/01/02 15:04:05 UTC",
		} {
			text := at.Format(layout)
			want, err := time.Parse(layout, text)
			if err != nil {
				t.Fatal(err)
			}
			if got := Find([]byte(text + " ")); !got.Equal(want) {
				t.Fatalf("%q: got %v, want %v", text, got.Time, want)
			}
		}
	}
}

// otherDigits changes each digit of a line that is at or behind the offset `from`.
func otherDigits(line string, from int) string {
	b := []byte(line)
	for i := max(0, from); i < len(b); i++ {
		if lex.IsDigit(b[i]) {
			b[i] = '0' + (b[i]-'0'+1)%10
		}
	}
	return string(b)
}

// stampOf returns the time of a record. If possible, it reuses the time of the last record.
func stampOf(text []byte, at int, last *Last) Stamp {
	var h record.Header
	if last.Reuse(text[:min(at, SearchLimit)], &h) {
		return Stamp{h.Time, h.Local, h.Dateless, h.Yearless}
	}
	return new(Line).RecordTime(text, at, last)
}

// TestLastStamp: the time that is derived from the previous line equals the time that the line
// itself gives.
func TestLastStamp(t *testing.T) {
	for _, layout := range []string{
		time.RFC3339Nano, "[2006-01-02 15:04:05.000] [INFO] ", "2006/01/02 15:04:05,000000 - INFO - ",
		"[rank0]: 2006-01-02 15:04:05 ",
		time.ANSIC, "Jan 2, 2006 3:04:05 PM ", "2006-01-02T15:04:05.000-07:00 x", "01/02/2006 15:04:05 ",
		"15:04:05.000 ", "Jan 02 15:04:05 ",
	} {
		var last Last
		recurred := 0
		at := time.Date(2024, 2, 28, 23, 0, 0, 0, time.FixedZone("", 3600))
		for range 10_000 {
			at = at.Add(1234567 * time.Microsecond)
			text := []byte(at.Format(layout))
			want := Find(text)
			if last.Reuse(text, new(record.Header)) {
				recurred++
			}
			if got := stampOf(text, len(text), &last); got != want {
				t.Fatalf("%q: got %v, want %v", text, got, want)
			}
		}
		if dated := Find([]byte(at.Format(layout))).Detail() >= 3; dated != (recurred > 5000) {
			t.Errorf("%q: %d of 10,000 times were derived from the line before; want most: %t", layout,
				recurred, dated)
		}
	}
}

func FuzzFindTime(f *testing.F) {
	for _, seed := range []string{
		"2026-11-20T02:00:03.123Z", "Fri Nov 20 02:00:03 CET 2026",
		`{"ts": 1700000000.123}`, "I1120 02:00:03", "[1:2:3",
	} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, text []byte, at int) {
		at = max(0, min(at, len(text)))
		var last Last
		for from := range 8 { // after lines whose digits differ from the offset `from` on
			stampOf([]byte(otherDigits(string(text), at-3*from)), at, &last)
			if got, want := stampOf(text, at, &last), stampOf(text, at, new(Last)); got != want {
				t.Fatalf("%q: got %v, want %v", text, got, want)
			}
		}
		s := stampOf(text, at, &last)
		if y := s.Year(); !s.IsZero() && (s.dateless || s.yearless) != (y == 0) {
			t.Fatalf("%q: %v, dateless %t, yearless %t", text, s.Time, s.dateless, s.yearless)
		}
	})
}

func BenchmarkFindTime(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"rfc3339", "2026-11-20T02:00:03.123Z "},
		{"python", "2026-01-10 02:14:07,123 - pipeline - INFO - "},
		{"zone", "[2026-01-10 02:14:07+01:00] "},
		{"nvidia-smi", "2025/06/13 00:27:53.196, 0, Tesla V100S-PCIE-32GB, "},
		{"syslog", "Nov 20 02:00:03 host python[12]: "},
		{"vllm", "(EngineCore_DP0 pid=964370) INFO 03-09 09:32:24 [gpu_model_runner.py:5360] "},
		{"asctime", "Fri Nov 20 02:00:03 2026 "},
		{"dateless", "[02:00:03,123] "},
		{"epoch", "1700000000.123 "},
		{"none", "Epoch: [0]  [120/128]  lr 0.000100  class_error 100.00  "},
	} {
		b.Run(c.name, func(b *testing.B) {
			text := []byte(c.text)
			b.ReportAllocs()
			for b.Loop() {
				Find(text)
			}
		})
	}
}
