package source

import (
	"strings"
	"testing"
)

// TestLastBarEnd: the mark ¦ stands behind the last bar of a text.
func TestLastBarEnd(t *testing.T) {
	t.Parallel()
	const bar = " 40%|████      | 4/10 [00:03<00:05,  1.10it/s]"
	for _, line := range []string{
		bar + "¦",
		bar + " ¦",
		bar + bar + "¦",
		bar + "\r" + bar + "¦text",
		strings.Repeat("x", 600) + bar + "¦text",
		"105/233 [=====>.......................] - ETA: 41s - loss: 1.2000 ¦",
		"Working... ━━━━━━━━━━╺━━━━━━━━━  50% 0:00:03" + bar + "¦text",
		"¦text [1/2] text",
	} {
		text := strings.Replace(line, "¦", "", 1)
		if got, want := LastBarEnd([]byte(text)), strings.Index(line, "¦"); got != want {
			t.Errorf("%q: expected %d, found %d", line, want, got)
		}
	}
}

// TestBarEnd: the mark ¦ stands where a text follows the state of a bar.
func TestBarEnd(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		" 40%|████      | 4/10 [00:03<00:05,  1.10it/s]¦CUDA error: out of memory",
		"transcribing:  40%|████      | 4/10 [00:03<00:05,  1.10s/it, loss=0.3]¦[pipeline] file-end",
		"  0%|          | 0/1000 [00:00<?, ? examples/s]¦text",
		" 45% 105/233 [00:34<00:41,  3.10it/s]¦text",
		"Working... ━━━━━━━━━━╺━━━━━━━━━  50% ¦text",
		"step 105/233 [00:34, then text] text",
		"105it [00:34,  3.10it/s]¦text",
		" 40%|####      | 1.2k/10.0k [1:00:03<2:00:05,  1.10it/s] ¦text",
		" 40%|####      | 4/10 [00:03<00:05,  1.10it/s] ¦  indented",
		"Working... ━━━━━━━━━━╺━━━━━━━━━  50% 0:00:03¦text",
		"Training ━━━━━━━━━━╸━━━━━━━━━ 105/233  45% 0:00:41 ¦text",
		"Training ━━━━━━━━━━╸━━━━━━━━━ 105/233  45% 0:00:41  ",
		"\x1b[31m━━━╸\x1b[0m \x1b[32m3/7\x1b[0m \x1b[35m 45%\x1b[0m \x1b[36m0:00:41\x1b[0m ¦text",
		"\x1b[31m━━━╸\x1b[0m \x1b[32m3/7\x1b[0m \x1b[35m 45%\x1b[0m \x1b[36m0:00:41\x1b[0m ",
		"105/233 [=====>.......................] - ETA: 41s - loss: 1.2000 ¦text",
		"105/233 [=====>.......................] - ETA: 1:41 - loss: 1.2e-05 - acc: nan ¦text",
		"105/233 [=====>.......................] - ETA: 41s - loss: 1.2000¦CUDA error",
		"233/233 [=============================] - 41s 3ms/step - loss: 1.2000 ¦text",
		"  1/233 [.............................]¦text",
		" 12/233 ━━━━━━━━━━━━━━━━━━━━ 41s 320ms/step - loss: 1.2000 ¦text",
		"233/233 [=============================] - 41s 3ms/step - loss: 1.2000",
		" 12/233 ━━━━━━━━━━━━━━━━━━━━ 1:41 320ms/step - loss: 1.2000",
		"step 4/10 [ok] text",
		"step 4/10 [..] text",
		" 40%|████      | 4/10 [00:03<00:05,  1.10it/s]",
		" 40%|████      | 4/10 [00:03<00:05,  1.10it/s]   ",
		"[2026-11-20 02:00:03] [INFO] text",
		"iteration 4/10 [00:03<00:05] text",
		"| 3/7 [text] <b>",
		"a | 4/10 [00:03<",
	} {
		want := strings.Index(line, "¦")
		text := strings.Replace(line, "¦", "", 1)
		got := BarEnd([]byte(text))
		if got != max(0, want) {
			t.Errorf("%q: expected %d, found %d", line, want, got)
		}
	}
}
