package journal

import (
	"bytes"
	"strings"
	"testing"

	"vramsoak/parser/record"
)

const (
	ownStart = "[vramsoak] run-start time=2026-11-20T02:00:00.000Z files=2 feed=stdin version=v1 command=x\n"
	ownEnd   = "[vramsoak] file-end time=2026-11-20T02:00:01.000Z index=1 path=a status=ok seconds=1.000\n"
	reading  = "[GPU Memory] Before Work: Allocated: 1.00GB | Reserved: 2.00GB\n"
)

// TestSoundLength: a power failure may leave bytes after the last complete line of a log. Only
// these bytes are cut off; each complete line before them stays.
func TestSoundLength(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("progress ", tornLine/4) // of several blocks
	tests := []struct {
		name, sound, torn string
	}{
		{name: "empty"},
		{name: "whole", sound: ownStart + ownEnd + "said\n"},
		{"only a torn line", "", "[vramsoak] run-sta"},
		{"torn harness line", ownStart, "[vramsoak] file-end time=2026-11"},
		{
			"torn harness line that another's bytes end", ownStart,
			"[vramsoak] file-end time=2026-11\xfe\xff\nmore\n",
		},
		{
			"torn harness line that NULs and a line end", ownStart + "said\n",
			"[vramsoak] file-end time=\x00\x00\n",
		},
		{"torn pipeline line", ownStart + ownEnd + reading, "[GPU Memory] After Wo"},
		{
			"torn reading that a line end follows", ownStart + ownEnd + reading,
			"[GPU Memory] After Work: Allocated: x\n",
		},
		{"NULs", ownStart + reading, strings.Repeat("\x00", 5000)},
		{"NULs behind a torn line", ownStart + reading, "[GPU" + strings.Repeat("\x00", 100_000)},
		{"another file's bytes", ownStart + ownEnd, "\x7fELF\x02\x01\x01\x00\nmore\n"},
		{
			"NULs that the pipeline printed, long before", ownStart + "a\x00b\n" + ownEnd +
				"said\n",
			"",
		},
		{"no line of the harness", "", "said\n\x00"},
		{"a line of several blocks", ownStart + long + "\n" + ownEnd, "x"},
		{"a torn line of several blocks", ownStart + ownEnd + reading, long},
		{"blocks without a line of the harness", ownStart +
			strings.Repeat(strings.Repeat("y", 999)+"\n", 3*tornBlock/1000) + reading, "to"},
		{
			"a harness's line that is quoted", ownStart + "it said [vramsoak] file-end\n",
			"it said [vramsoak] fi",
		},
	}
	// Here the prefix of the harness's last line lies across the border of two blocks.
	for shift := range len(record.HarnessPrefix) + 3 {
		filler := tornBlock - len(ownEnd) + shift - 1
		tests = append(tests, struct{ name, sound, torn string }{"border", ownStart + ownEnd +
			strings.Repeat("z", filler) + "\n", "t"})
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.name == "no line of the harness" {
				test.sound, test.torn = "said\n",
					"\x00" // reading it back finds that it is no log of a run
			}
			log := test.sound + test.torn
			n, err := soundLength(strings.NewReader(log), int64(len(log)), nil)
			if err != nil {
				t.Fatal(err)
			}
			if n != int64(len(test.sound)) {
				t.Errorf("%d bytes count, expected %d of %d; the rest begins %.80q", n,
					len(test.sound), len(log), log[min(int(n), len(log)):])
			}
		})
	}
}

// FuzzSoundLength adds arbitrary bytes to a log. The sound part must end with a complete line and
// must keep all lines of the harness. A second cut must change nothing.
func FuzzSoundLength(f *testing.F) {
	f.Add([]byte("[vramsoak] file-end time=2026"))
	f.Add([]byte("\x00\x00\n[vramsoak] exit pid=1 code=0\n\x00"))
	f.Add([]byte(reading + "\xff\n"))
	f.Fuzz(func(t *testing.T, tail []byte) {
		log := append([]byte(ownStart+ownEnd), tail...)
		n, err := soundLength(bytes.NewReader(log), int64(len(log)), nil)
		if err != nil {
			t.Fatal(err)
		}
		if n < int64(len(ownStart+ownEnd)) || n > int64(len(log)) || log[n-1] != '\n' {
			t.Fatalf("%d of %d bytes count", n, len(log))
		}
		again, err := soundLength(bytes.NewReader(log[:n]), n, nil)
		if err != nil || again != n {
			t.Fatalf("%d bytes, then %d, %v", n, again, err)
		}
	})
}
