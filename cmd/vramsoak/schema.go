package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"vramsoak/docs/schema"
)

func newSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema " + strings.Join(schema.Names(), "|"),
		Short: "Print the JSON Schema of the policy, the pipeline file or the verdict",
		Long: `Schema prints a JSON Schema (draft 2020-12). Editors that know it complete the keys
of a file, show what they mean, and mark mistakes while you type. pipeline is what vramsoak
validate and simulate read, policy is vramsoak.yaml, and verdict is what --format json prints.`,
		Example: `  # For an editor: write the schema beside the policy ...
  vramsoak schema policy > vramsoak.schema.json

  # ... and make this the first line of vramsoak.yaml:
  # yaml-language-server: $schema=vramsoak.schema.json`,
		Args:      wants(1, 1, "one of "+strings.Join(schema.Names(), ", ")),
		ValidArgs: schema.Names(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return printSchema(cmd.OutOrStdout(), args[0])
		},
	}
}

func printSchema(out io.Writer, name string) error {
	text, err := schema.Get(name)
	if err != nil {
		return err
	}
	if _, err := out.Write(text); err != nil {
		return fmt.Errorf("printing the schema: %w", err)
	}
	return nil
}
