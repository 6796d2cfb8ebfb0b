package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"vramsoak/harness"
	"vramsoak/harness/check"
	"vramsoak/harness/secret"
	"vramsoak/parser/bounded"
	"vramsoak/reports/sink"
)

// batchName is the file of a run folder that has the files of one round, one a line, in the order of --files: what the
// folders held when the run began.
const batchName = "batch.jsonl"

// A batchLine is one of them.
type batchLine struct {
	Path string `json:"path"`
	// Bytes is the path where it is not UTF-8, and cannot stand in JSON.
	Bytes        []byte  `json:"path_bytes,omitempty"`
	AudioSeconds float64 `json:"audio_seconds,omitempty"`
}

func writeBatch(dir string, files []harness.Input) error {
	return writeFile(filepath.Join(dir, batchName), func(w io.Writer) error {
		buffered := bufio.NewWriter(w)
		enc := sink.JSONLines(buffered)
		for _, f := range files {
			line := batchLine{Path: f.Path, AudioSeconds: f.AudioSeconds}
			if !utf8.ValidString(f.Path) {
				line.Bytes = []byte(f.Path)
			}
			if err := enc.Encode(line); err != nil {
				return err
			}
		}
		return buffered.Flush()
	})
}

func readBatch(dir string) ([]harness.Input, error) {
	path := filepath.Join(dir, batchName)
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	var files []harness.Input
	for text, err := range bounded.Lines(f, path) {
		if err != nil {
			return nil, err
		}
		var line batchLine
		if err := json.Unmarshal(text, &line); err != nil {
			return nil, fmt.Errorf("%s: file %d: expected what vramsoak soak wrote there: %w", path, len(files)+1, err)
		}
		if len(files) == batchMax {
			return nil, fmt.Errorf("%s: expected at most %d files, found more", path, batchMax)
		}
		if line.Bytes != nil {
			line.Path = string(line.Bytes)
		}
		files = append(files, harness.Input{Path: line.Path, AudioSeconds: line.AudioSeconds})
	}
	return files, nil
}

// perRun are the flags that a run and its resumption each have for themselves.
var perRun = []string{"resume", "runs", "format"}

// givenFlags are the flags that were given, with their values.
func givenFlags(flags *pflag.FlagSet) map[string][]string {
	given := map[string][]string{}
	flags.Visit(func(f *pflag.Flag) {
		if !slices.Contains(perRun, f.Name) {
			given[f.Name] = flagValues(f)
		}
	})
	return given
}

func flagValues(f *pflag.Flag) []string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return []string{f.Value.String()}
}

// A resumed is a run folder that is taken up again.
type resumed struct {
	dir     string
	info    runJSON
	policy  check.Policy
	command []string
}

// takeUp reads a run folder, gives the command the flags that the run was begun with, and goes to the folder that it was
// begun in. What was given beside --resume must not contradict them.
func takeUp(cmd *cobra.Command, dir string, command []string) (*resumed, error) {
	run, err := readRunFolder(folderOf(dir))
	if err == nil {
		err = run.whole()
	}
	if err != nil {
		return nil, fmt.Errorf("--resume: %w", err)
	}
	if err := run.contradicts(cmd.Flags(), command); err != nil {
		return nil, err
	}
	for name, values := range run.info.Config.Flags {
		if cmd.Flags().Changed(name) {
			continue // it was given again
		}
		for _, value := range values {
			if err := cmd.Flags().Set(name, value); err != nil {
				return nil, fmt.Errorf("--resume: %s: flag %s: %w; resume it with the version that began it, %s",
					filepath.Join(dir, runJSONName), name, err, run.info.Version)
			}
		}
	}
	return run, run.enter()
}

// folderOf is the run folder of which a file is given, such as its log; any other path is itself.
func folderOf(path string) string {
	if !isFile(path) {
		return path
	}
	dir := filepath.Dir(path)
	if gpuOf(path) >= 0 {
		dir = filepath.Dir(dir)
	}
	if isFile(filepath.Join(dir, runJSONName)) {
		return dir
	}
	return path
}

func readRunFolder(dir string) (*resumed, error) {
	path := filepath.Join(dir, runJSONName)
	text, err := bounded.ReadJSON(path, runJSONMax)
	switch {
	case err != nil && isFile(dir):
		return nil, fmt.Errorf("%s: expected a run folder, found a file that is in none", dir)
	case errors.Is(err, fs.ErrNotExist):
		return nil, notARun(dir)
	case err != nil:
		return nil, err
	}
	run := &resumed{dir: dir}
	if err := json.Unmarshal(text, &run.info); err != nil {
		return nil, fmt.Errorf("%s: expected what vramsoak soak wrote there: %w", path, err)
	}
	if run.info.Schema != runSchema {
		return nil, fmt.Errorf("%s: expected the schema %s, as vramsoak soak writes it, found %q; it is another program's, or another version's",
			path, runSchema, run.info.Schema)
	}
	run.command = run.info.Command
	if run.info.Config.Folder == "" || len(run.command) == 0 {
		return nil, fmt.Errorf("%s: expected the folder and the command that the run was begun with, found none; an earlier version "+
			"(%s) wrote it, start a new run", path, run.info.Version)
	}
	if run.policy, err = check.ParsePolicy([]byte(run.info.Config.Policy), path+": policy"); err != nil {
		return nil, err
	}
	return run, nil
}

// notARun says what is there in place of a run folder.
func notARun(dir string) error {
	if !isFolder(dir) {
		return fmt.Errorf("%s: expected a run folder, found nothing by that name", dir)
	}
	entries, err := os.ReadDir(dir)
	switch newest := newestRun(dir, entries); {
	case err != nil:
		return err
	case newest != "":
		return fmt.Errorf("%s: expected a run folder, found the folder of runs: the newest is %s", dir, newest)
	case isFile(runLogs(dir)[0]):
		return fmt.Errorf("%s: expected a run folder, found a log without the %s that says what was run; the log can be judged with vramsoak "+
			"check, and to go on a new run is needed", dir, runJSONName)
	}
	return fmt.Errorf("%s: expected a run folder, found no %s in it; nothing was run there, start a new run", dir, runJSONName)
}

// whole demands what it takes to go on: the files, and the log of a run that has written one. Without its log a run would begin
// anew, over the verdict that it has.
func (r *resumed) whole() error {
	if !isFile(filepath.Join(r.dir, batchName)) {
		return fmt.Errorf("%s: expected a run folder with a %s, the files of the run, found none; copy it from where the run was made, "+
			"or start a new run", r.dir, batchName)
	}
	gone := slices.DeleteFunc(r.logs(), hasLine)
	saved := filepath.Clean(r.dir) + harness.RescuedSuffix
	switch all := len(gone) == len(r.logs()); {
	case len(gone) == 0:
	case all && isFolder(saved):
		return fmt.Errorf("%s: the log was removed while the run was at work, and what there was of it is saved in %s; start a new run", r.dir, saved)
	case r.info.Reason == reasonRunning && !isFile(filepath.Join(r.dir, verdictName)): // it may have been killed before its first line
	case all || r.info.Reason == harness.ReasonDone:
		return fmt.Errorf("%s: the log is gone: the run has ended (%s), and %s is missing or empty; start a new run", r.dir, r.info.Reason, gone[0])
	}
	return nil
}

// logs are those that a run writes which has ended.
func (r *resumed) logs() []string {
	if len(r.info.Config.Workers) == 0 {
		return []string{filepath.Join(r.dir, harness.LogName)}
	}
	var logs []string
	for _, gpu := range r.info.Config.Workers {
		logs = append(logs, filepath.Join(harness.WorkerDir(r.dir, gpu), harness.LogName))
	}
	return logs
}

// contradicts names what was given and is not as the run was begun.
func (r *resumed) contradicts(flags *pflag.FlagSet, command []string) error {
	var errs []error
	errs = append(errs, r.sameCommand(command))
	flags.Visit(func(f *pflag.Flag) {
		recorded, known := r.info.Config.Flags[f.Name]
		switch given := flagValues(f); {
		case f.Name == "runs":
			errs = append(errs, errors.New("--resume: --runs is where new runs are made; leave it out"))
		case slices.Contains(perRun, f.Name) || known && slices.Equal(given, recorded):
		case known:
			errs = append(errs, fmt.Errorf("--resume: --%s is %s in the run, and was given as %s; leave it out", f.Name,
				strings.Join(recorded, ", "), strings.Join(given, ", ")))
		default:
			errs = append(errs, fmt.Errorf("--resume: the run was begun without --%s; leave it out, or start a new run", f.Name))
		}
	})
	return errors.Join(errs...)
}

// sameCommand returns an error unless the command is the one that the run was begun with. If
// run.json masks secrets, a command must be given, and is checked by its digest. Else it may be left out.
func (r *resumed) sameCommand(command []string) error {
	shown := strings.Join(r.info.Command, " ")
	switch digest := r.info.Digest; {
	case digest != "" && len(command) == 0:
		return fmt.Errorf("--resume: secrets are masked in the run's command, which is %s; give it again, after --", shown)
	case digest != "":
		same, err := secret.Matches(digest, command)
		switch {
		case err != nil:
			return fmt.Errorf("%s: command_digest: %w", filepath.Join(r.dir, runJSONName), err)
		case !same:
			return fmt.Errorf("--resume: the command is not the run's, which is %s (with its secrets masked); give the one that the "+
				"run was begun with", shown)
		}
		r.command = command
	case len(command) > 0 && !slices.Equal(command, r.command):
		return fmt.Errorf("--resume: the command is not the run's, which is %s; leave it out", shown)
	}
	return nil
}

// enter goes to the folder that the run was begun in: its paths begin there.
func (r *resumed) enter() error {
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	if here == r.info.Config.Folder {
		return nil
	}
	if r.dir, err = filepath.Abs(r.dir); err != nil {
		return err
	}
	if err := os.Chdir(r.info.Config.Folder); err != nil {
		return fmt.Errorf("--resume: going to the folder that the run was begun in: %w", err)
	}
	return nil
}
