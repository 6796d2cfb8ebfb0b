package runfolder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"vramsoak/harness"
	"vramsoak/harness/check"
	"vramsoak/parser/bounded"
)

// A Run is a run folder that can be resumed.
type Run struct {
	Dir     string
	Info    Info
	Policy  check.Policy
	Command []string
}

// Open returns the run in a run folder, from the folder's run.json.
func Open(dir string) (*Run, error) {
	path := filepath.Join(dir, InfoName)
	info, err := ReadInfo(dir)
	switch {
	case err != nil && isFile(dir):
		return nil, fmt.Errorf("%s: expected a run folder, found a file that is in none", dir)
	case errors.Is(err, fs.ErrNotExist):
		return nil, notARun(dir)
	case err != nil:
		return nil, err
	case info.Schema != Schema:
		return nil, fmt.Errorf("%s: expected the schema %s, as vramsoak soak writes it, found "+
			"%q; it is another program's, or another version's",
			path, Schema, info.Schema)
	case info.Config.Folder == "" || len(info.Command) == 0:
		return nil, fmt.Errorf("%s: expected the folder and the command that the run was begun "+
			"with, found none; an earlier version "+
			"(%s) wrote it, start a new run", path, info.Version)
	}
	run := &Run{Dir: dir, Info: info, Command: info.Command}
	run.Policy, err = check.ParsePolicy([]byte(info.Config.Policy), path+": policy")
	if err != nil {
		return nil, err
	}
	return run, nil
}

// notARun returns the error for a path that is no run folder.
func notARun(dir string) error {
	if !isFolder(dir) {
		return fmt.Errorf("%s: expected a run folder, found nothing by that name", dir)
	}
	entries, err := os.ReadDir(dir)
	switch newest := newestIn(dir, entries); {
	case err != nil:
		return err
	case newest != "":
		return fmt.Errorf("%s: expected a run folder, found the folder of runs: the newest is %s",
			dir, newest)
	case isFile(Logs(dir)[0]):
		return fmt.Errorf("%s: expected a run folder, found a log without the %s that says what "+
			"was run; the log can be judged with vramsoak "+
			"check, and to go on a new run is needed", dir, InfoName)
	}
	return fmt.Errorf("%s: expected a run folder, found no %s in it; nothing was run there, "+
		"start a new run", dir, InfoName)
}

// Complete returns an error unless the folder has the files that a resume needs: batch.jsonl and,
// if the run wrote a log, the log. If the log is missing, a resume would start the run over and
// replace its verdict.
func (r *Run) Complete() error {
	if !isFile(filepath.Join(r.Dir, BatchName)) {
		return fmt.Errorf("%s: expected a run folder with a %s, the files of the run, found "+
			"none; copy it from where the run was made, "+
			"or start a new run", r.Dir, BatchName)
	}
	gone := slices.DeleteFunc(r.logs(), hasLine)
	saved := filepath.Clean(r.Dir) + harness.RescuedSuffix
	switch all := len(gone) == len(r.logs()); {
	case len(gone) == 0:
	case all && isFolder(saved):
		return fmt.Errorf("%s: the log was removed while the run was at work, and what there was "+
			"of it is saved in %s; start a new run", r.Dir, saved)
	// No error: the run may have been killed before it wrote the first line of its log.
	case r.Info.Reason == Running && !isFile(filepath.Join(r.Dir, VerdictName)):
	case all || r.Info.Reason == harness.ReasonDone:
		return fmt.Errorf("%s: the log is gone: the run has ended (%s), and %s is missing or "+
			"empty; start a new run", r.Dir, r.Info.Reason, gone[0])
	}
	return nil
}

// logs returns the paths of all logs of the run, whether they exist or not.
func (r *Run) logs() []string {
	if len(r.Info.Config.Workers) == 0 {
		return []string{filepath.Join(r.Dir, harness.LogName)}
	}
	var logs []string
	for _, gpu := range r.Info.Config.Workers {
		logs = append(logs, filepath.Join(harness.WorkerDir(r.Dir, gpu), harness.LogName))
	}
	return logs
}

// Resumable reports whether the run can be resumed: it has a batch.jsonl, and its pipeline does not
// find its files by itself.
func (r *Run) Resumable() bool {
	return isFile(filepath.Join(r.Dir, BatchName)) && r.Info.Config.Feed != string(harness.FeedNone)
}

// UseCommand returns an error unless command is the command with which the run began. If secrets in
// run.json are masked, the user must give the command again, and UseCommand compares its digest. If
// none are masked, command may be empty; the run then uses the command in run.json.
func (r *Run) UseCommand(command []string) error {
	shown, masked := strings.Join(r.Info.Command, " "), r.Info.Digest != ""
	if len(command) == 0 {
		if masked {
			return fmt.Errorf("--resume: secrets are masked in the run's command, which is %s; give "+
				"it again, after --", shown)
		}
		return nil
	}
	same, err := r.Info.IsCommand(r.Dir, command)
	switch {
	case err != nil:
		return err
	case !same && masked:
		return fmt.Errorf("--resume: the command is not the run's, which is %s (with its secrets "+
			"masked); give the one that the run was begun with", shown)
	case !same:
		return fmt.Errorf("--resume: the command is not the run's, which is %s; leave it out", shown)
	}
	r.Command = command
	return nil
}

// Enter changes to the folder in which the run was begun, because the paths of the run are relative
// to that folder.
func (r *Run) Enter() error {
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	if here == r.Info.Config.Folder {
		return nil
	}
	if r.Dir, err = filepath.Abs(r.Dir); err != nil {
		return err
	}
	if err := os.Chdir(r.Info.Config.Folder); err != nil {
		return fmt.Errorf("--resume: going to the folder that the run was begun in: %w", err)
	}
	return nil
}

// verdictMax is the largest verdict.json that is read, in bytes. A run of 10,000 files writes about
// 10 MiB.
const verdictMax = 128 << 20

// ReadVerdict returns the verdict that a soak left in its run folder, or "" if it left none. This
// verdict includes the comparison with baselines, which a verdict on the log alone lacks.
func ReadVerdict(dir string) (check.Verdict, error) {
	name := filepath.Join(dir, VerdictName)
	text, err := bounded.ReadFile(name, verdictMax)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var given struct {
		Verdict check.Verdict `json:"verdict"`
	}
	if err := json.Unmarshal(text, &given); err != nil {
		return "", fmt.Errorf("%s: expected the verdict that vramsoak soak wrote there: %w",
			name, err)
	}
	return given.Verdict, nil
}
