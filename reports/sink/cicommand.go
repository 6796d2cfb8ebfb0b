package sink

import (
	"fmt"
	"io"
	"strings"
)

// A Property is a named value of a command of GitHub Actions, such as line=12.
type Property struct{ Name, Value string }

// GitHub writes a workflow command of GitHub Actions, such as
//
//	::error file=soak.log,line=88,title=leak::grows by 1.00 MiB a file
//
// The properties and the text may come from outside. They go through [Line], and the characters
// that have a meaning in a command are escaped as GitHub's toolkit does it
// (packages/core/src/command.ts).
func GitHub(w io.Writer, command string, properties []Property, text string) error {
	values := make([]string, len(properties))
	for i, p := range properties {
		values[i] = p.Name + "=" + gitHubProperty.Replace(Line(p.Value))
	}
	if len(values) > 0 {
		command += " " + strings.Join(values, ",")
	}
	return writeCommand(w, "::"+command+"::"+gitHubText.Replace(Line(text))+"\n")
}

var (
	gitHubText     = strings.NewReplacer("%", "%25")
	gitHubProperty = strings.NewReplacer("%", "%25", ":", "%3A", ",", "%2C")
)

// GitLabStart writes the marker with which a section of a GitLab job's log begins. The section can
// be folded, and is folded at first. seconds is the Unix time; name is a word of letters, digits,
// and underscores; title is the line that stays visible.
func GitLabStart(w io.Writer, seconds int64, name, title string) error {
	return writeCommand(w, fmt.Sprintf("\x1b[0Ksection_start:%d:%s[collapsed=true]\r\x1b[0K%s\n",
		seconds, name, Name(title)))
}

// GitLabEnd writes the marker with which the section ends.
func GitLabEnd(w io.Writer, seconds int64, name string) error {
	return writeCommand(w, fmt.Sprintf("\x1b[0Ksection_end:%d:%s\r\x1b[0K\n", seconds, name))
}

// writeCommand writes a line that a CI system shall obey.
func writeCommand(w io.Writer, line string) error {
	t, ok := w.(*Terminal)
	if !ok {
		_, err := io.WriteString(w, line)
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.filter.watch.newline()
	_, err := io.WriteString(t.filter.w, line)
	return err
}
