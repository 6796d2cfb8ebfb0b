package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"vramsoak/harness"
	"vramsoak/harness/history"
	"vramsoak/harness/runfolder"
	"vramsoak/harness/secret"
	"vramsoak/parser/dialect"
	"vramsoak/pipeline/meter"
	"vramsoak/pipeline/scenario"
)

// completions says what the shell offers for the value of a flag, unless the flag itself knows, as
// a [choice] does. A name such as "gpu" is of the flags of all commands, "doctor gpu" of one
// command only. Flags that are not listed here, such as --timeout, have values that nobody can
// list.
var completions = map[string]cobra.CompletionFunc{
	"gpus":          fixed([]string{meter.All}),
	"gpu":           fixed(scenario.CardNames()),
	"doctor gpu":    fixed(nil),
	"metric":        completeMetric,
	"suite":         completeSuite,
	"dialect":       completeDialect,
	"dialects show": fixed(dialect.Names()),
	"db":            withExtension("db"),
	"resume":        completeResume,
	"runs":          folders,
}

// argumentCompletions says what the shell offers for the arguments of a command. For a command that
// is not listed, it offers files and folders, because logs and run folders are such.
var argumentCompletions = map[string]cobra.CompletionFunc{
	"simulate": yamlFiles,
	"validate": yamlFiles,
	"snapshot": withExtension("pickle"),
	"audio":    folders,
	"model":    folders,
	"doctor":   completeRun,
	"dialects": fixed(nil),
	"list":     fixed(nil),
	"trend":    fixed(nil),
}

func isNone(feed string) bool { return feed == string(harness.FeedNone) }

// addCompletions makes a command and its subcommands complete the values of their flags and their
// arguments.
func addCompletions(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		addCompletions(sub)
	}
	add := func(f *pflag.Flag) {
		complete := completions[f.Name]
		if own, is := f.Value.(interface{ completion() cobra.CompletionFunc }); is {
			complete = own.completion()
		}
		if own := completions[cmd.Name()+" "+f.Name]; own != nil {
			complete = own
		}
		if complete != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // fails only for an unknown flag
		}
	}
	cmd.LocalNonPersistentFlags().VisitAll(add)
	cmd.PersistentFlags().VisitAll(add)
	if complete := argumentCompletions[cmd.Name()]; complete != nil && cmd.ValidArgs == nil {
		cmd.ValidArgsFunction = complete
	}
}

// fixed completes to one of these values.
func fixed(values []string) cobra.CompletionFunc {
	return cobra.FixedCompletions(values,
		cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder)
}

// withExtension completes to a file with one of these extensions, or to a folder.
func withExtension(extensions ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(extensions, cobra.ShellCompDirectiveFilterFileExt)
}

var yamlFiles = withExtension("yaml", "yml")

func folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// completeDialect completes to a built-in dialect or to one of the user's policy.
func completeDialect(cmd *cobra.Command, _ []string, _ string) (
	[]string, cobra.ShellCompDirective,
) {
	names := dialect.Names()
	policy, _, err := policyFor(cmp.Or(flagValue(cmd, "dialect-file"), flagValue(cmd, "policy")),
		nil)
	if err == nil {
		for _, d := range policy.Dialects {
			names = append(names, d.Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// flagValue returns the value of a flag, or "" if the command has no such flag.
func flagValue(cmd *cobra.Command, name string) string {
	if f := cmd.Flag(name); f != nil {
		return f.Value.String()
	}
	return ""
}

// historyOf returns the options of the history that the command line names. ok is false for a
// database on a server, which the completion does not connect to.
func historyOf(cmd *cobra.Command) (opts historyOptions, ok bool) {
	opts = historyOptions{db: flagValue(cmd, "db"), suite: flagValue(cmd, "suite")}
	return opts, !secret.IsDSN(opts.name())
}

func completeSuite(cmd *cobra.Command, _ []string, _ string) (
	names []string, _ cobra.ShellCompDirective,
) {
	if opts, ok := historyOf(cmd); ok {
		_ = opts.with(cmd.Context(), history.Open, func(s *history.Store) error { // no history yet
			runs, err := s.List(cmd.Context(), "")
			for _, run := range runs {
				if !slices.Contains(names, run.Suite) {
					names = append(names, run.Suite)
				}
			}
			return err
		})
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func completeMetric(cmd *cobra.Command, _ []string, _ string) (
	names []string, _ cobra.ShellCompDirective,
) {
	opts, ok := historyOf(cmd)
	if !ok {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	h, err := opts.load(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, s := range h.Series {
		if !slices.Contains(names, s.Metric) {
			names = append(names, s.Metric)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeResume completes to a run folder whose run has not ended, the newest first.
func completeResume(cmd *cobra.Command, _ []string, typed string) (
	[]string, cobra.ShellCompDirective,
) {
	return runFolders(cmp.Or(flagValue(cmd, "runs"), "runs"), typed, func(dir string) bool {
		info, err := runfolder.ReadInfo(dir)
		return err == nil && info.Reason != harness.ReasonDone
	})
}

// completeRun completes to a run folder, the newest first.
func completeRun(_ *cobra.Command, args []string, typed string) (
	[]string, cobra.ShellCompDirective,
) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return runFolders("runs", typed, func(string) bool { return true })
}

// runsOffered is how many run folders the completion looks at, because it must be quick.
const runsOffered = 50

// runFolders returns the run folders that begin with the text that the user typed and for which the
// function takes returns true. It looks in the folder that the user typed, or else in parent.
func runFolders(parent, typed string, takes func(dir string) bool) (
	found []string, _ cobra.ShellCompDirective,
) {
	if dir, _ := filepath.Split(typed); dir != "" {
		parent = dir
	}
	entries, err := os.ReadDir(parent)
	if err != nil {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	for _, e := range slices.Backward(entries) { // their names begin with the time
		dir := filepath.Join(parent, e.Name())
		if strings.HasPrefix(dir, filepath.Clean(typed)) || typed == "" {
			if _, err := os.Stat(filepath.Join(dir, runfolder.InfoName)); err == nil && takes(dir) {
				found = append(found, dir)
			}
		}
		if len(found) == runsOffered {
			break
		}
	}
	if len(found) == 0 {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
