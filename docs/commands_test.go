package docs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"vramsoak/fixtures/golden"
)

// A block is a fenced block of a page: "```sh", its lines, "```". The word after the language
// decides what the test does with it.
//
//	```console       "$ " begins a command; the lines below are its output on a terminal
//	```sh            commands that run here; their output is not compared
//	```sh needs GPU  commands that cannot run here
//	```yaml FILE     the content of FILE, for the commands below it on the page
type block struct {
	language, word string
	text           string
	start, end     int // the offsets of the text in the page
}

var fence = regexp.MustCompile("(?ms)^```([a-z]+)(?: ([^\n]*))?\n(.*?)^```$")

func blocks(page string) []block {
	var all []block
	for _, m := range fence.FindAllStringSubmatchIndex(page, -1) {
		b := block{language: page[m[2]:m[3]], text: page[m[6]:m[7]], start: m[6], end: m[7]}
		if m[4] >= 0 {
			b.word = page[m[4]:m[5]]
		}
		all = append(all, b)
	}
	return all
}

// TestCommands runs the commands of each page, from the first block to the last. Each page has a
// folder of its own. A command may pass, fail or be undecided (exit 0, 1, 3). Exit 2 means that the
// page has a mistake. UPDATE=1 rewrites the output that pages show.
func TestCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs vramsoak a hundred times")
	}
	template := newSandbox(t)
	ran := 0
	for _, path := range pages(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		page := string(text)
		if len(blocks(page)) == 0 {
			continue
		}
		ran++
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			box := template.copy(t)
			if now := box.runPage(t, page); golden.Updating() && now != page {
				golden.Rewrite(t, path, []byte(now))
			}
		})
	}
	if ran < 10 {
		t.Errorf("found commands in only %d pages", ran)
	}
}

// runPage runs the blocks of a page, and returns the page with the output that it should show.
func (s sandbox) runPage(t *testing.T, page string) string {
	t.Helper()
	var now strings.Builder
	end := 0
	for _, b := range blocks(page) {
		now.WriteString(page[end:b.start])
		text := b.text
		switch {
		case b.language == "console":
			text = s.runConsole(t, b.text)
		case b.language == "sh" && b.word == "":
			s.runScript(t, b.text)
		case b.language == "sh" && !strings.HasPrefix(b.word, "needs "):
			t.Errorf("expected ```sh or ```sh needs WHAT, found ```sh %s", b.word)
		case b.language != "sh" && b.word != "":
			s.write(t, b.word, b.text)
		}
		now.WriteString(text)
		end = b.end
	}
	return now.String() + page[end:]
}

// runScript runs commands in one shell, so a variable that one command sets is known to the next.
func (s sandbox) runScript(t *testing.T, script string) {
	t.Helper()
	const check = "\n{ s=$?; [ $s = 0 ] || [ $s = 1 ] || [ $s = 3 ] || exit $s; } 2>/dev/null\n"
	var b strings.Builder
	for line := range strings.Lines(script) {
		b.WriteString(strings.TrimSuffix(line, "\n"))
		if strings.HasSuffix(line, "\\\n") {
			b.WriteString("\n")
		} else {
			b.WriteString(check)
		}
	}
	cmd := s.command(b.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v, in\n%s\n%s", err, script, out)
	}
}

// runConsole runs the commands of a console block, and returns the block with the output that it
// should have.
func (s sandbox) runConsole(t *testing.T, text string) string {
	t.Helper()
	var now strings.Builder
	for i, session := range strings.Split("\n"+text, "\n$ ") {
		if i == 0 {
			continue // the line comes before the first command
		}
		line, want, _ := strings.Cut(session, "\n")
		for strings.HasSuffix(line, "\\") {
			more, rest, _ := strings.Cut(want, "\n")
			line, want = line+"\n"+more, rest
		}
		if want != "" && !strings.HasSuffix(want, "\n") {
			want += "\n"
		}
		got, code := s.terminal(t, line)
		if code == 2 {
			t.Errorf("%s: exit code 2: %s", line, got)
		}
		if !matches(want, got) {
			update := shortened(want, got)
			if !golden.Updating() {
				t.Errorf("%s: the page shows other output than the program prints; UPDATE=1 rewrites it:\n%s",
					line, golden.Diff("page", []byte(want), []byte(update)))
			}
			want = update
		}
		fmt.Fprintf(&now, "$ %s\n%s", line, want)
	}
	return now.String()
}

// elided is the line of a page that replaces any number of lines.
const elided = "...\n"

// matches reports whether a page shows the output of a command.
func matches(want, got string) bool {
	pattern := strings.Builder{}
	for line := range strings.Lines(strings.TrimRight(want, "\n") + "\n") {
		if line == elided {
			pattern.WriteString("(?:.*\n)*")
		} else {
			pattern.WriteString(regexp.QuoteMeta(line))
		}
	}
	return regexp.MustCompile("^" + pattern.String() + "$").MatchString(strings.TrimRight(got, "\n") +
		"\n")
}

// shortened returns the output that a page should show: all of it, or as many paragraphs as the
// page showed before the first "...".
func shortened(want, got string) string {
	head, _, ok := strings.Cut("\n"+want, "\n"+elided)
	if !ok {
		return got
	}
	paragraphs := strings.Split(got, "\n\n")
	n := strings.Count(strings.Trim(head, "\n"), "\n\n") + 1
	if n >= len(paragraphs) {
		return got
	}
	return strings.Join(paragraphs[:n], "\n\n") + "\n" + elided
}

// TestCommandsAreFenced: no page has a command in an indented block, because no test would run it.
func TestCommandsAreFenced(t *testing.T) {
	t.Parallel()
	command := regexp.MustCompile(`(?m)^    (?:\$ )?(?:bin/)?(vramsoak|make|go|python3?) .*`)
	for _, path := range pages(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range command.FindAllString(fence.ReplaceAllString(string(text), ""), -1) {
			t.Errorf("%s has a command outside of a ```sh or ```console block: %s", path, line)
		}
	}
}

// TestMatches: "..." stands for any number of lines, and everything else must agree.
func TestMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want, got string
		matches   bool
	}{
		{"a\nb\n", "a\nb\n", true},
		{"a\n", "a\nb\n", false},
		{"a\n...\n", "a\nb\nc\n", true},
		{"a\n...\nc\n", "a\nb\nc\n", true},
		{"a\n...\nb\n", "a\nb\nc\n", false},
		{"...\nc\n", "a\nb\nc\n", true},
		{"b\n...\n", "a\nb\nc\n", false},
	} {
		if got := matches(c.want, c.got); got != c.matches {
			t.Errorf("%q shows %q: %v, want %v", c.want, c.got, got, c.matches)
		}
	}
	if got := shortened("x\n\ny\n...\n", "a\n\nb\nc\n\nd\n"); got != "a\n\nb\nc\n...\n" {
		t.Errorf("shortened to %q", got)
	}
}

// command returns a shell that runs commands in the sandbox.
func (s sandbox) command(script string) *exec.Cmd {
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir, cmd.Env = s.dir, s.env
	return cmd
}
