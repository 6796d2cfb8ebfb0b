package job

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"
	"unicode/utf8"

	"vramsoak/harness/shard"
)

//go:embed kubernetes.yaml.tmpl
var manifests string

// These are the values of Kubernetes.Judge.
const (
	JudgeAfter     = "after"     // the judge waits for the shards; needs the right to create a Role
	JudgeSuspended = "suspended" // the judge waits until a person resumes it
	JudgeNone      = "none"      // no judge
)

// Kubernetes is a soak on a Kubernetes cluster. Empty values are left to the cluster.
type Kubernetes struct {
	Soak
	Namespace      string
	Image          string        // has vramsoak and the pipeline
	AtOnce         int           // how many pods run at the same time; 0 is no limit
	GPUs           int           // of each pod
	GPUResource    string        // what the cluster calls a GPU, such as nvidia.com/gpu
	CPU            string        // of each pod, such as 4 or 500m
	Memory         string        // of each pod, such as 16Gi
	SharedMemory   string        // the size of /dev/shm
	Volumes        []string      // such as recordings:/data:ro, see [Kubernetes.Mounts]
	Env            []string      // NAME=VALUE
	EnvFrom        []string      // names of Secrets
	ServiceAccount string        // of all pods
	NodeSelector   []string      // KEY=VALUE
	Tolerations    []string      // KEY, KEY=VALUE or KEY=VALUE:EFFECT
	Retries        int           // how often a shard may start again after a failure of its own
	MaxFailed      int           // the Job ends when more shards have failed; 0 is no limit
	Grace          time.Duration // from SIGTERM to SIGKILL
	Queue          string        // a LocalQueue of Kueue
	Judge          string        // JudgeAfter, JudgeSuspended or JudgeNone
}

// A Mount is a volume, and its place in a container.
type Mount struct {
	Kind     string // claim, configmap or secret
	Name     string
	Path     string
	ReadOnly bool
}

// A Toleration is a taint of nodes that pods accept. An empty value stands for any.
type Toleration struct{ Key, Value, Effect string }

// A Pair is a label or a variable.
type Pair struct{ Key, Value string }

// labelBytes is the largest length of a DNS label. The names of pods are DNS labels.
const labelBytes = 63

var (
	dnsLabel = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	dnsName  = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)
	quantity = regexp.MustCompile(`^(\d+(?:\.\d+)?)([mkMGTPE]|[KMGTPE]i)?$`)
	labelKey = regexp.MustCompile(`^([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?` +
		`[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	labelText = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?$`)
	variable  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// ownVariables are set by the manifest or by Kubernetes.
var ownVariables = []string{shard.EnvCompletions, "JOB_COMPLETION_INDEX", "NODE_NAME"}

// judgeSuffix makes the judge's name of that of the shards' Job.
const judgeSuffix = "-judge"

// Name returns the name of the Job: the run's name, in the letters that Kubernetes allows.
func (k Kubernetes) Name() string {
	return strings.NewReplacer(".", "-", "_", "-").Replace(strings.ToLower(k.Run))
}

// JudgeName returns the name of the Job that judges.
func (k Kubernetes) JudgeName() string { return k.Name() + judgeSuffix }

// Account returns the service account of the judge.
func (k Kubernetes) Account() string {
	if k.ServiceAccount == "" {
		return "default"
	}
	return k.ServiceAccount
}

// Parallelism returns how many pods may run at the same time.
func (k Kubernetes) Parallelism() int {
	if k.AtOnce == 0 {
		return k.Shards
	}
	return min(k.AtOnce, k.Shards)
}

// Seconds returns the grace period in whole seconds.
func (k Kubernetes) Seconds() int64 { return int64((k.Grace + time.Second - 1) / time.Second) }

// WaitWords returns the command line of the judge: it waits for the shards, unless a person does.
func (k Kubernetes) WaitWords() []string {
	words := k.JudgeWords()
	if k.Judge == JudgeAfter {
		words = append([]string{k.Program, "job", "wait", k.Name(), "--"}, words...)
	}
	return words
}

// Mounts returns the volumes. A volume is written as CLAIM:PATH, configmap/NAME:PATH or
// secret/NAME:PATH, with ":ro" behind it to forbid writing.
func (k Kubernetes) Mounts() ([]Mount, error) {
	var mounts []Mount
	var errs []error
	for _, v := range k.Volumes {
		source, folder, _ := strings.Cut(v, ":")
		folder, readOnly := strings.CutSuffix(folder, ":ro")
		kind, name, ok := strings.Cut(source, "/")
		if !ok {
			kind, name = "claim", source
		}
		m := Mount{kind, name, folder, readOnly || kind != "claim"}
		seen := slices.ContainsFunc(mounts, func(o Mount) bool { return o.Path == m.Path })
		switch {
		case !slices.Contains([]string{"claim", "configmap", "secret"}, kind), !dnsName.MatchString(name),
			!path.IsAbs(folder), path.Clean(folder) != folder, strings.Contains(folder, ":"):
			errs = append(errs, fmt.Errorf("--volume: expected the name of a claim and a folder, such "+
				"as recordings:/data or recordings:/data:ro, or configmap/NAME:/FOLDER or "+
				"secret/NAME:/FOLDER, found %q", v))
		case seen:
			errs = append(errs, fmt.Errorf("--volume: expected one volume for each folder, found two "+
				"for %s", folder))
		}
		mounts = append(mounts, m)
	}
	return mounts, errors.Join(errs...)
}

// Tolerated returns the taints that the shards accept. Many clusters taint nodes with GPUs with the
// name of the resource, to keep other pods away.
func (k Kubernetes) Tolerated() ([]Toleration, error) {
	var all []Toleration
	var errs []error
	if k.GPUs > 0 {
		all = append(all, Toleration{Key: k.GPUResource})
	}
	for _, text := range k.Tolerations {
		taint, effect, _ := strings.Cut(text, ":")
		key, value, _ := strings.Cut(taint, "=")
		known := []string{"", "NoSchedule", "PreferNoSchedule", "NoExecute"}
		if !labelKey.MatchString(key) || !labelText.MatchString(value) ||
			!slices.Contains(known, effect) {
			errs = append(errs, fmt.Errorf("--toleration: expected a taint, such as spot, pool=gpu or "+
				"pool=gpu:NoSchedule, found %q", text))
		}
		all = append(all, Toleration{key, value, effect})
	}
	return all, errors.Join(errs...)
}

// Selected returns the labels that a node must have.
func (k Kubernetes) Selected() ([]Pair, error) {
	return pairs("node-selector", "a label of nodes, such as nvidia.com/gpu.product=NVIDIA-L4",
		k.NodeSelector, func(p Pair) bool {
			return labelKey.MatchString(p.Key) && labelText.MatchString(p.Value)
		})
}

// Variables returns the variables that the user adds.
func (k Kubernetes) Variables() ([]Pair, error) {
	return pairs("env", "a variable, such as HF_HOME=/models", k.Env, func(p Pair) bool {
		return variable.MatchString(p.Key) && !slices.Contains(ownVariables, p.Key) && isText(p.Value)
	})
}

// pairs reads the values KEY=VALUE of a flag.
func pairs(flag, expected string, values []string, ok func(Pair) bool) ([]Pair, error) {
	var all []Pair
	var errs []error
	for _, text := range values {
		key, value, found := strings.Cut(text, "=")
		p := Pair{key, value}
		seen := slices.ContainsFunc(all, func(o Pair) bool { return o.Key == key })
		if !found || !ok(p) || seen {
			errs = append(errs, fmt.Errorf("--%s: expected %s, each once and none that the manifest "+
				"sets itself, found %q", flag, expected, text))
		}
		all = append(all, p)
	}
	return all, errors.Join(errs...)
}

// isText reports whether Kubernetes, whose objects are JSON, can hold a text.
func isText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

// Validate returns an error that names everything that is wrong.
func (k Kubernetes) Validate() error {
	errs := []error{k.Soak.Validate()}
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if most := labelBytes - len(judgeSuffix); len(k.Run) > most {
		wrong("--run: expected at most %d characters, because Kubernetes makes the names of pods of it, "+
			"found %d", most, len(k.Run))
	}
	strange := func(r rune) bool { return r <= ' ' || r > '~' }
	if k.Image == "" || strings.ContainsFunc(k.Image, strange) {
		wrong("--image: expected an image with vramsoak and the pipeline in it, found %q", k.Image)
	}
	for _, n := range []struct {
		flag, value string
		of          *regexp.Regexp
	}{
		{"namespace", k.Namespace, dnsLabel},
		{"kueue-queue", k.Queue, dnsName},
		{"service-account", k.ServiceAccount, dnsName},
	} {
		if (n.value != "" || n.flag == "namespace") && !n.of.MatchString(n.value) {
			wrong("--%s: expected a name in small letters, digits and dashes, found %q", n.flag, n.value)
		}
	}
	for _, name := range k.EnvFrom {
		if !dnsName.MatchString(name) {
			wrong("--env-from: expected the name of a Secret, found %q", name)
		}
	}
	if !strings.Contains(k.GPUResource, "/") || !labelKey.MatchString(k.GPUResource) {
		wrong("--gpu-resource: expected what the cluster calls a GPU, such as nvidia.com/gpu, found %q",
			k.GPUResource)
	}
	for _, q := range []struct{ flag, value string }{
		{"cpu", k.CPU}, {"memory", k.Memory}, {"shm", k.SharedMemory},
	} {
		m := quantity.FindStringSubmatch(q.value)
		if q.value != "" && (m == nil || strings.Trim(m[1], "0.") == "") {
			wrong("--%s: expected a quantity of Kubernetes, such as 500m, 4 or 16Gi, found %q", q.flag,
				q.value)
		}
	}
	if k.Grace < time.Second {
		wrong("--termination-grace: expected at least 1s, found %v", k.Grace)
	}
	for _, word := range slices.Concat(k.ShardWords(), k.JudgeWords()) {
		if !isText(word) {
			wrong("expected a command in UTF-8, which Kubernetes needs, found %q", word)
		}
	}
	mounts, err := k.Mounts()
	_, err2 := k.Tolerated()
	_, err3 := k.Selected()
	_, err4 := k.Variables()
	errs = append(errs, err, err2, err3, err4)
	if folder := k.Runs != "" && !strings.Contains(k.Runs, "://"); folder && err == nil &&
		!slices.ContainsFunc(mounts, k.holdsRuns) {
		wrong("--runs: expected a bucket, or a folder on a volume that outlives the pods, such as "+
			"--runs /runs with --volume CLAIM:/runs; found %s, which is on none of the volumes", k.Runs)
	}
	return errors.Join(errs...)
}

// holdsRuns reports whether the run folder is on this volume, and can be written there.
func (k Kubernetes) holdsRuns(m Mount) bool {
	folder, below := path.Clean(k.Runs), strings.TrimSuffix(m.Path, "/")+"/"
	return !m.ReadOnly && (folder == m.Path || strings.HasPrefix(folder, below))
}

// Write writes the manifests, or returns the error of [Kubernetes.Validate] and writes nothing.
func (k Kubernetes) Write(w io.Writer) error {
	if err := k.Validate(); err != nil {
		return err
	}
	t, err := template.New("manifests").Funcs(template.FuncMap{
		"quote": strconv.Quote, "literal": literal,
	}).Parse(manifests)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := t.Execute(&text, k); err != nil {
		return err
	}
	_, err = w.Write(text.Bytes())
	return err
}

// literal returns a text for command, args or the value of a variable, where Kubernetes expands
// $(NAME), and makes $ of $$. The result is quoted for YAML: Go's escapes are valid there, and mean
// the same for valid UTF-8.
func literal(s string) string { return strconv.Quote(strings.ReplaceAll(s, "$", "$$")) }
