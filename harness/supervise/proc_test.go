package supervise

import (
	"testing"
)

func TestCommandLine(t *testing.T) {
	t.Parallel()
	got := CommandLine([]string{"python", "my script.py", "--in={}", "", "it's"})
	if want := `python 'my script.py' --in={} '' 'it'\''s'`; got != want {
		t.Errorf("found %s, expected %s", got, want)
	}
}
