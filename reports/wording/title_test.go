package wording

import (
	"testing"

	"vramsoak/harness/check"
)

// TestTitleOfFailedFiles: files that end alike are one list of numbers. Of many files, the title
// has the number and the first, so that a headline does not say twice that there are more.
func TestTitleOfFailedFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		files         float64
		message, want string
	}{
		{
			1, `file 7 (a.wav) failed, last at "Load"; 39 of 40 files ended ok`,
			`file 7 failed, last at "Load"`,
		},
		{
			3, `file 7 (a.wav), file 8 (b.wav) and file 21 (c.wav) failed, last at "Load"; 37 of 40 ` +
				`files ended ok`,
			`files 7, 8 and 21 failed, last at "Load"`,
		},
		{
			3, "file 7 (a.wav) and file 8 (b.wav) failed, file 9 (c.wav) crashed; 37 of 40 files " +
				"ended ok",
			"files 7 and 8 failed, file 9 crashed",
		},
		{
			7, "file 1 (a), file 2 (b), file 3 (c), file 4 (d) and file 5 (e) failed, and 2 more; 33 " +
				"of 40 files ended ok",
			"7 files did not end ok, first file 1",
		},
	} {
		f := check.Finding{
			Check: check.Completeness, Subject: check.Files, Verdict: check.Fail, Gates: true,
			Measured: &c.files, File: 7, Message: c.message,
		}
		if c.files == 7 {
			f.File = 1
		}
		if got := Title(f); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
