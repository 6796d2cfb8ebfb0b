package main

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestHelpWidth: no line of any help is wider than the terminal.
func TestHelpWidth(t *testing.T) {
	for _, width := range []int{40, 60, 80, 100, 120} {
		t.Setenv("COLUMNS", strconv.Itoa(width))
		helps := 0
		root := newRootCommand()
		root.InitDefaultCompletionCmd()
		eachCommand(root, func(cmd *cobra.Command) {
			var b bytes.Buffer
			cmd.SetOut(&b)
			if err := cmd.Help(); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(b.String()) {
				if line = strings.TrimSuffix(line, "\n"); len(line) > min(width, mostHelp) {
					t.Errorf("%s --help at %d columns: %d columns: %q", cmd.CommandPath(), width,
						len(line), line)
				}
			}
			helps++
		})
		const least = 20
		if helps < least {
			t.Errorf("%d commands, want %d or more", helps, least)
		}
	}
}

func eachCommand(cmd *cobra.Command, do func(*cobra.Command)) {
	do(cmd)
	for _, sub := range cmd.Commands() {
		eachCommand(sub, do)
	}
}

// TestFoldedHelp: descriptions fold under themselves, paragraphs are filled, and an example stays a
// command that can be pasted.
func TestFoldedHelp(t *testing.T) {
	const help = `Plot draws what is allocated and
reserved over time.

  up       the lowest hole of the
           card
  [pipeline] file-end path=PATH status=ok

Usage:
  vramsoak plot LOG... [flags]

Examples:
  # Where the memory goes, in a picture
  vramsoak plot run.log | jq 'select(.a == 1)' --width 2400

Flags:
      --width int   width of the picture in pixels
      --a-very-long-flag duration   how long to wait
`
	const want = `Plot draws what is allocated and
reserved over time.

  up       the lowest hole of the card
  [pipeline] file-end path=PATH
    status=ok

Usage:
  vramsoak plot LOG... [flags]

Examples:
  # Where the memory goes, in a
  # picture
  vramsoak plot run.log | jq \
      'select(.a == 1)' --width 2400

Flags:
      --width int
          width of the picture in
          pixels
      --a-very-long-flag duration
          how long to wait
`
	if got := foldedHelp(help, 38); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
