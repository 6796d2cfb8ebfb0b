package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"vramsoak/harness"
	"vramsoak/parser/strictyaml"
)

// These are the values that flags may have. The errors, the helps and the completion share them.
var (
	reportFormats     = []string{"text", "json", "junit", "markdown"}
	comparisonFormats = []string{"text", "json", "markdown"}
	textOrJSON        = []string{"text", "json"}
	overs             = []string{overTime, overFiles}
	placements        = []string{"firstfit", "up", "down"}
	eventModes        = []string{"done", "pending"}
	feeds             = []string{
		string(harness.FeedProcess), string(harness.FeedList), string(harness.FeedStdin),
		string(harness.FeedNone),
	}
	crashModes = []string{string(harness.CrashRestart), string(harness.CrashStop)}
)

// alternatives returns the values as "text, json or junit".
func alternatives(values []string) string {
	last := len(values) - 1
	if last < 1 {
		return strings.Join(values, "")
	}
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

// meantFlag returns the flag that the user may have meant, such as "--policy" for "--polcy" or
// "-policy". It returns "" if no flag of the command is near.
func meantFlag(cmd *cobra.Command, err *pflag.NotExistError) string {
	name := err.GetSpecifiedName()
	if shorthands := err.GetSpecifiedShortnames(); shorthands != "" {
		name, _, _ = strings.Cut(shorthands, "=")
	}
	var names, longer []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		names = append(names, f.Name)
		if len(name) > 1 && strings.HasPrefix(f.Name, strings.ToLower(name)) {
			longer = append(longer, "--"+f.Name)
		}
	})
	switch near := strictyaml.Nearest(name, names); {
	case near != "":
		return "--" + near
	case len(longer) > 0:
		return strings.Join(longer, " or ")
	}
	return ""
}

// knownTopic returns an error if the arguments of help do not name a command.
func knownTopic(help *cobra.Command, args []string) error {
	found, rest, err := help.Root().Find(args)
	if err != nil || len(rest) > 0 && found.HasSubCommands() {
		return wantsNone(found, rest)
	}
	return nil
}
