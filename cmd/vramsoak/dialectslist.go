package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"vramsoak/parser/dialect"
)

func newDialectsCommand() *cobra.Command {
	show := ""
	cmd := &cobra.Command{
		Use:   "dialects",
		Short: "List the log formats that are read, or show one as YAML to start from",
		Long: `Dialects lists the names of the built-in dialects. With --show it prints the
description of one as YAML. To make your own, change it and put it under dialects: in vramsoak.yaml:
a dialect of your own has all the fields that a built-in one has. Dialects of programs that print
blocks of lines are written in Go; for them, --show prints the name of the Go file.`,
		Example: `  vramsoak dialects
  vramsoak dialects --show megatron > mine.yaml
  vramsoak parse --dialect-file mine.yaml run.log`,
		Args: wantsNone,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDialects(cmd.OutOrStdout(), show)
		},
	}
	cmd.Flags().StringVar(&show, "show", "", "print the dialect of this `name` as YAML")
	return cmd
}

func runDialects(out io.Writer, show string) error {
	text := strings.Join(dialect.Names(), "\n") + "\n"
	if show != "" {
		yaml, goFile := dialect.Show(show)
		switch {
		case goFile != "":
			yaml = fmt.Sprintf("# %s is written in Go: %s\n", show, goFile)
		case yaml == "":
			return dialect.UnknownError(show, nil)
		}
		text = yaml
	}
	if _, err := io.WriteString(out, text); err != nil {
		return fmt.Errorf("printing the dialects: %w", err)
	}
	return nil
}
