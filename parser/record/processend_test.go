package record

import "testing"

func TestProcessEnd(t *testing.T) {
	for _, c := range []struct {
		end  ProcessEnd
		want string
	}{
		{ProcessEnd{Code: 1}, "the process exited with code 1"},
		{
			ProcessEnd{Code: 1, Cause: "ValueError: bad header"},
			"the process exited with code 1: ValueError: bad header",
		},
		{ProcessEnd{Signal: "SIGKILL"}, "the process was ended by SIGKILL"},
		{ProcessEnd{Signal: "SIGRTMIN+2", Cause: "so"}, "the process was ended by SIGRTMIN+2: so"},
	} {
		if got := c.end.String(); got != c.want {
			t.Errorf("%+v: wrote %q, want %q", c.end, got, c.want)
		}
		if got, ok := ParseProcessEnd(c.want); !ok || got != c.end {
			t.Errorf("%q: read %+v, %v, want %+v", c.want, got, ok, c.end)
		}
	}
	for _, text := range []string{
		"",
		"took longer than 20s",
		"the process exited with code 0 before the file's end",
		"the process was ended because the device was full",
		"exited with code 1",
		"the process was ended by the watchdog: it hung",
	} {
		if got, ok := ParseProcessEnd(text); ok || got != (ProcessEnd{}) {
			t.Errorf("%q: read %+v, want no end", text, got)
		}
	}
}
