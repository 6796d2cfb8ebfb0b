package main

import "testing"

// TestUseColor: --color comes before all variables, then NO_COLOR, FORCE_COLOR and CLICOLOR_FORCE.
// TERM=dumb counts only for a terminal.
func TestUseColor(t *testing.T) {
	const terminal, pipe = true, false
	for _, c := range []struct {
		mode     string
		terminal bool
		env      map[string]string
		want     bool
	}{
		{"auto", terminal, nil, true},
		{"auto", pipe, nil, false},
		{"auto", terminal, map[string]string{"TERM": "dumb"}, false},
		{"auto", terminal, map[string]string{"TERM": "xterm"}, true},
		{"auto", terminal, map[string]string{"NO_COLOR": "1"}, false},
		{"auto", terminal, map[string]string{"NO_COLOR": "0"}, false}, // any value counts
		{"auto", terminal, map[string]string{"NO_COLOR": ""}, true},
		{"auto", pipe, map[string]string{"FORCE_COLOR": "1"}, true},
		{"auto", pipe, map[string]string{"FORCE_COLOR": "0"}, false},
		{"auto", pipe, map[string]string{"FORCE_COLOR": ""}, false},
		{"auto", pipe, map[string]string{"CLICOLOR_FORCE": "1"}, true},
		{"auto", pipe, map[string]string{"CLICOLOR_FORCE": "0"}, false},
		{"auto", pipe, map[string]string{"FORCE_COLOR": "0", "CLICOLOR_FORCE": "1"}, true},
		{"auto", pipe, map[string]string{"FORCE_COLOR": "1", "TERM": "dumb"}, true},
		{"auto", pipe, map[string]string{"FORCE_COLOR": "1", "NO_COLOR": "1"}, false},
		{"auto", pipe, map[string]string{"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, false},
		{"always", pipe, map[string]string{"NO_COLOR": "1", "TERM": "dumb"}, true},
		{"never", terminal, map[string]string{"FORCE_COLOR": "1", "CLICOLOR_FORCE": "1"}, false},
	} {
		getenv := func(name string) string { return c.env[name] }
		if got := useColor(c.mode, c.terminal, getenv); got != c.want {
			t.Errorf("--color %s, terminal %t, %v: got %t", c.mode, c.terminal, c.env, got)
		}
	}
}
