package job

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"text/template"
	"time"
)

//go:embed slurm.sh.tmpl
var templates embed.FS

// Slurm is a soak on a Slurm cluster. Empty values are left to the cluster.
type Slurm struct {
	Soak
	AtOnce      int           // how many tasks run at the same time; 0 is no limit
	Gres        string        // of each task, such as gpu:1
	Time        string        // the limit of a task, as sbatch takes it
	Lead        time.Duration // how long before Time a task stops and is queued again
	MaxRequeues int           // how often a task may start again
	Partition   string
	Account     string
	CPUs        int
	Memory      string
	Setup       []string // shell lines before the soak
	Extra       []string // options of sbatch for the shards
	JudgeExtra  []string // options of sbatch for the judge and for the job that submits
}

// timeLimit matches what sbatch takes for --time, besides UNLIMITED: minutes, minutes:seconds,
// hours:minutes:seconds, days-hours, days-hours:minutes and days-hours:minutes:seconds.
var timeLimit = regexp.MustCompile(`^(?:(\d{1,4})-(\d{1,4})(?::(\d{1,6}))?(?::(\d{1,6}))?|` +
	`(\d{1,8})|(\d{1,8}):(\d{1,6})|(\d{1,6}):(\d{1,6}):(\d{1,6}))$`)

// parseTime reads a time limit as sbatch --time takes it. ok is false if s has another form.
func parseTime(s string) (limit time.Duration, ok bool) {
	m := timeLimit.FindStringSubmatch(s)
	if m == nil {
		return 0, false
	}
	for i, unit := range []time.Duration{
		24 * time.Hour, time.Hour, time.Minute, time.Second, // 1-02:03:04
		time.Minute,              // 90
		time.Minute, time.Second, // 90:30
		time.Hour, time.Minute, time.Second, // 1:30:00
	} {
		n, _ := strconv.Atoi(m[i+1]) // "" is 0
		limit += time.Duration(n) * unit
	}
	return limit, limit > 0
}

// unprintable matches what would end a comment line of a shell script or confuse its reader.
var unprintable = regexp.MustCompile(`[\x00-\x1f\x7f]`)

// Validate returns an error that names everything that is wrong.
func (s Slurm) Validate() error {
	errs := []error{s.Soak.Validate()}
	if limit, ok := parseTime(s.Time); s.Time != "" && !ok {
		errs = append(errs, fmt.Errorf("--time: expected a time limit of Slurm, such as 90 (minutes), "+
			"8:00:00 or 1-12:00:00, found %q", s.Time))
	} else if ok && s.Lead >= limit {
		errs = append(errs, fmt.Errorf("--signal-lead: expected less than the time limit of %v, found "+
			"%v; a task would stop as soon as it starts", limit, s.Lead))
	}
	const most = 65535 * time.Second // sbatch takes no more
	if s.Lead < time.Second || s.Lead > most {
		errs = append(errs, fmt.Errorf("--signal-lead: expected 1s to %v, found %v", most, s.Lead))
	}
	for _, option := range []struct{ name, value string }{
		{"gres", s.Gres}, {"partition", s.Partition}, {"account", s.Account}, {"mem", s.Memory},
	} {
		if strings.ContainsAny(option.value, " \"'\\#") || unprintable.MatchString(option.value) {
			errs = append(errs, fmt.Errorf("--%s: expected a value without blanks and quotes, found %q",
				option.name, option.value))
		}
	}
	for _, option := range []struct {
		name   string
		values []string
	}{{"sbatch", s.Extra}, {"judge-sbatch", s.JudgeExtra}} {
		for _, value := range option.values {
			if !strings.HasPrefix(value, "-") || unprintable.MatchString(value) {
				errs = append(errs, fmt.Errorf("--%s: expected an option of sbatch in one line, such as "+
					"'--constraint=a100', found %q", option.name, value))
			}
		}
	}
	for _, line := range s.Setup {
		if strings.ContainsAny(line, "\n\r\x00") {
			errs = append(errs, fmt.Errorf("--setup: expected one line of shell, found %q; repeat "+
				"--setup for more lines", line))
		}
	}
	if !s.Bucket() && strings.ContainsAny(s.Runs, "\"\\%\n\r") {
		errs = append(errs, fmt.Errorf("--runs: expected a folder without quotes, backslashes, %% and "+
			"line breaks, because Slurm reads them in the names of output files; found %q", s.Runs))
	}
	return errors.Join(errs...)
}

// Outputs returns the folder for the output of the tasks.
func (s Slurm) Outputs() string {
	if s.Bucket() {
		return "slurm-" + s.Run
	}
	return s.Whole() + "/slurm"
}

// Array returns the ids of the tasks, as --array takes them.
func (s Slurm) Array() string {
	ids := fmt.Sprintf("1-%d", s.Shards)
	if s.AtOnce > 0 {
		ids += fmt.Sprintf("%%%d", s.AtOnce)
	}
	return ids
}

// Seconds returns the lead in whole seconds, as --signal takes it.
func (s Slurm) Seconds() int64 { return int64((s.Lead + time.Second - 1) / time.Second) }

// Write writes the script, or returns the error of [Slurm.Validate] and writes nothing.
func (s Slurm) Write(w io.Writer) error {
	if err := s.Validate(); err != nil {
		return err
	}
	t, err := template.New("slurm.sh.tmpl").Funcs(template.FuncMap{
		"shell": shellLine,
		"words": func(words ...string) []string { return words },
		"quoted": func(path string) string { // of an #SBATCH line
			if strings.ContainsAny(path, " '#") {
				return `"` + path + `"`
			}
			return path
		},
	}).ParseFS(templates, "slurm.sh.tmpl")
	if err != nil {
		return err
	}
	var script bytes.Buffer
	if err := t.Execute(&script, s); err != nil {
		return err
	}
	_, err = w.Write(script.Bytes())
	return err
}
