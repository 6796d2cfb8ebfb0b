package job

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"vramsoak/fixtures/golden"
)

// onKubernetes returns a job with the options that every job needs.
func onKubernetes() Kubernetes {
	return Kubernetes{
		Soak: Soak{
			Program: "vramsoak", Flags: []string{"--files", "/data/batch.txt"},
			Command: []string{"python", "transcribe.py", "--list", "{list}"},
			Shards:  8, Runs: "/runs", Run: "nightly_42",
		},
		Namespace: "default", Image: "transcribe:42", GPUs: 1,
		GPUResource: "nvidia.com/gpu", Volumes: []string{"soaks:/runs"}, Retries: 5,
		Grace: time.Minute, Judge: JudgeAfter,
	}
}

// withEverything returns a job with each of its options.
func withEverything() Kubernetes {
	k := onKubernetes()
	k.Namespace, k.AtOnce, k.MaxFailed, k.Queue = "speech", 4, 2, "nightly"
	k.CPU, k.Memory, k.SharedMemory = "4", "16Gi", "8Gi"
	k.Volumes = append(k.Volumes, "recordings:/data:ro", "configmap/policy:/etc/vramsoak")
	k.Flags = append(k.Flags, "--policy", "/etc/vramsoak/vramsoak.yaml")
	k.Judging = []string{"--policy", "/etc/vramsoak/vramsoak.yaml"}
	k.Env, k.EnvFrom = []string{"HF_HOME=/models"}, []string{"bucket-keys"}
	k.ServiceAccount = "soaker"
	k.NodeSelector = []string{"nvidia.com/gpu.product=NVIDIA-L4"}
	k.Tolerations = []string{"spot", "pool=gpu:NoSchedule"}
	return k
}

func manifest(t *testing.T, k Kubernetes) string {
	t.Helper()
	var b bytes.Buffer
	if err := k.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The API server of Kubernetes validates such manifests in make test-kubernetes.
func TestKubernetesManifests(t *testing.T) {
	t.Parallel()
	golden.File(t, "testdata/kubernetes.yaml", []byte(manifest(t, onKubernetes())))
	golden.File(t, "testdata/kubernetes-everything.yaml", []byte(manifest(t, withEverything())))
	bucket := onKubernetes()
	bucket.Runs, bucket.Volumes, bucket.GPUs = "s3://soaks/speech?region=eu-central-1", nil, 0
	bucket.Judge = JudgeSuspended
	golden.File(t, "testdata/kubernetes-bucket.yaml", []byte(manifest(t, bucket)))
}

// TestVariablesAreText: kubectl reads YAML 1.1, where NO and y are booleans and null is nothing. As
// names of variables they are text.
func TestVariablesAreText(t *testing.T) {
	t.Parallel()
	k := onKubernetes()
	k.Env = []string{"NO=1", "y=1", "null=1"}
	text := manifest(t, k)
	for _, name := range []string{"NO", "y", "null"} {
		if n := strings.Count(text, `- name: "`+name+`"`); n != 2 { // of the shards and of the judge
			t.Errorf("%s is quoted %d times", name, n)
		}
	}
}

// An object is what the tests read of a manifest.
type object struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		Suspend  bool
		Template struct {
			Spec struct {
				Containers []struct {
					Command []string
					Args    []string
					Env     []struct{ Name, Value string }
				}
			}
		}
	}
}

func objects(t interface{ Fatal(args ...any) }, text string) map[string]object {
	all := map[string]object{}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var o object
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err, text)
		}
		all[o.Kind+" "+o.Metadata.Name] = o
	}
}

// expanded returns what Kubernetes makes of a text in args, by the rules in its documentation: $$
// becomes $, and $(NAME) the value of a variable that the container has.
func expanded(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		rest := s[i:]
		switch {
		case strings.HasPrefix(rest, "$$"):
			b.WriteByte('$')
			i++
		case strings.HasPrefix(rest, "$(JOB_COMPLETIONS)"):
			b.WriteString("8")
			i += len("$(JOB_COMPLETIONS)") - 1
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// TestKubernetesWords: after YAML and the expansion of Kubernetes, vramsoak gets the words of the
// command as they were given.
func TestKubernetesWords(t *testing.T) {
	t.Parallel()
	check := func(t interface {
		Fatal(args ...any)
		Errorf(format string, args ...any)
	}, words []string,
	) {
		k := onKubernetes()
		k.Command = words
		k.Env = []string{"X=" + words[0]}
		var text bytes.Buffer
		if err := k.Write(&text); err != nil {
			t.Fatal(err)
		}
		all := objects(t, text.String())
		if len(all) != 4 {
			t.Errorf("expected 4 objects, found %d", len(all))
		}
		c := all["Job nightly-42"].Spec.Template.Spec.Containers[0]
		var got []string
		for _, arg := range append(c.Command, c.Args...) {
			got = append(got, expanded(arg))
		}
		want := slices.Concat([]string{
			"vramsoak", "soak", "--shard", "auto", "--runs", "/runs", "--run", "nightly_42",
			"--files", "/data/batch.txt", "--",
		}, words)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("words (- given, + found):\n%s", diff)
		}
		if v := c.Env[len(c.Env)-1]; v.Name != "X" || expanded(v.Value) != words[0] {
			t.Errorf("variable %s=%q, want %q", v.Name, expanded(v.Value), words[0])
		}
	}
	check(t, []string{
		"a b", "it's", `"`, `\`, `\n`, "a\n---\nkind: Job\n", "\t", "", "-x", "- x", "#", "a: b",
		"{list}", "$(JOB_COMPLETIONS)", "$$(JOB_COMPLETIONS)", "$$$", "$", "$(", "é 漢 🙂",
		"\u2028\u0085\ufeff", "\x01\x1b\x7f", "yes", "1e3", "~", "null", "{{.Run}}", "<&>",
	})
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune("$()\"'\\\n: #-{}"))))
		words := rapid.SliceOfN(text.Filter(isText), 1, 4).Draw(t, "words")
		check(t, words)
	})
}

// TestKubernetesJudge: the judge waits for the shards, unless a person does.
func TestKubernetesJudge(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		judge   string
		objects int
		args    string
		suspend bool
	}{
		{JudgeAfter, 4, "job wait nightly-42 -- vramsoak check /runs/nightly_42", false},
		{JudgeSuspended, 2, "check /runs/nightly_42", true},
		{JudgeNone, 1, "", false},
	} {
		k := onKubernetes()
		k.Judge = test.judge
		all := objects(t, manifest(t, k))
		if len(all) != test.objects {
			t.Errorf("%s: expected %d objects, found %d", test.judge, test.objects, len(all))
		}
		judge, ok := all["Job nightly-42-judge"]
		if !ok {
			if test.judge != JudgeNone {
				t.Errorf("%s: no judge", test.judge)
			}
			continue
		}
		args := strings.Join(judge.Spec.Template.Spec.Containers[0].Args, " ")
		if args != test.args || judge.Spec.Suspend != test.suspend {
			t.Errorf("%s: %s, suspended: %v", test.judge, args, judge.Spec.Suspend)
		}
	}
}

// TestWhole: the settings of a bucket stay at the end of the address of a run.
func TestWhole(t *testing.T) {
	t.Parallel()
	for runs, want := range map[string]string{
		"runs": "runs/night", "/runs/": "/runs/night", "s3://b": "s3://b/night",
		"s3://b/p/?region=eu-central-1": "s3://b/p/night?region=eu-central-1",
	} {
		if got := (Soak{Runs: runs, Run: "night"}).Whole(); got != want {
			t.Errorf("%s: %s, want %s", runs, got, want)
		}
	}
}

// TestKubernetesRefuses: what the API server would refuse or read in another way is refused, and
// each mistake is named.
func TestKubernetesRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		change func(*Kubernetes)
		want   string
	}{
		{func(k *Kubernetes) { k.Shards = 0 }, "--shards: "},
		{func(k *Kubernetes) { k.Run = strings.Repeat("x", 58) }, "--run: expected at most 57 characters"},
		{func(k *Kubernetes) { k.Run = "a/b" }, "--run: "},
		{func(k *Kubernetes) { k.Image = "" }, "--image: "},
		{func(k *Kubernetes) { k.Image = "a\nb" }, "--image: "},
		{func(k *Kubernetes) { k.Namespace = "" }, "--namespace: "},
		{func(k *Kubernetes) { k.Namespace = "A" }, "--namespace: "},
		{func(k *Kubernetes) { k.Queue = "a b" }, "--kueue-queue: "},
		{func(k *Kubernetes) { k.ServiceAccount = "a:b" }, "--service-account: "},
		{func(k *Kubernetes) { k.GPUResource = "gpu" }, "--gpu-resource: "},
		{func(k *Kubernetes) { k.CPU = "4 cores" }, "--cpu: "},
		{func(k *Kubernetes) { k.CPU = "0.0" }, "--cpu: "},
		{func(k *Kubernetes) { k.Memory = "16GB" }, "--memory: "},
		{func(k *Kubernetes) { k.SharedMemory = "-1" }, "--shm: "},
		{func(k *Kubernetes) { k.Grace = 0 }, "--termination-grace: "},
		{func(k *Kubernetes) { k.Command = []string{"\xff"} }, "expected a command in UTF-8"},
		{func(k *Kubernetes) { k.Flags = []string{"--files", "a\xff"} }, "expected a command in UTF-8"},
		{func(k *Kubernetes) { k.Volumes = nil }, "--runs: expected a bucket, or a folder on a volume"},
		{func(k *Kubernetes) { k.Runs = "/runs2" }, "--runs: expected a bucket, or a folder on a volume"},
		{func(k *Kubernetes) { k.Runs = "gs://soaks" }, "--runs: expected a folder, or a bucket"},
		{func(k *Kubernetes) { k.Runs = "runs" }, "--runs: expected a bucket, or a folder on a volume"},
		{func(k *Kubernetes) { k.Volumes = []string{"soaks:/runs:ro"} }, "--runs: "},
		{func(k *Kubernetes) { k.Volumes = []string{"configmap/soaks:/runs"} }, "--runs: "},
		{func(k *Kubernetes) { k.Volumes = []string{"soaks"} }, "--volume: "},
		{func(k *Kubernetes) { k.Volumes = []string{"soaks:runs"} }, "--volume: "},
		{func(k *Kubernetes) { k.Volumes = []string{"host/x:/runs"} }, "--volume: "},
		{func(k *Kubernetes) { k.Volumes = []string{"a:/runs", "b:/runs"} }, "found two for /runs"},
		{func(k *Kubernetes) { k.Env = []string{"X"} }, "--env: "},
		{func(k *Kubernetes) { k.Env = []string{"1X=1"} }, "--env: "},
		{func(k *Kubernetes) { k.Env = []string{"X=1", "X=2"} }, "--env: "},
		{func(k *Kubernetes) { k.Env = []string{"JOB_COMPLETIONS=9"} }, "--env: "},
		{func(k *Kubernetes) { k.EnvFrom = []string{"A B"} }, "--env-from: "},
		{func(k *Kubernetes) { k.NodeSelector = []string{"a"} }, "--node-selector: "},
		{func(k *Kubernetes) { k.NodeSelector = []string{"a=b c"} }, "--node-selector: "},
		{func(k *Kubernetes) { k.Tolerations = []string{"a:Never"} }, "--toleration: "},
	} {
		k := onKubernetes()
		test.change(&k)
		var b bytes.Buffer
		if err := k.Write(&b); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("expected an error with %q, found %v", test.want, err)
		}
		if b.Len() > 0 {
			t.Errorf("%s: %d bytes were written", test.want, b.Len())
		}
	}
	k := onKubernetes()
	k.Shards, k.Image, k.Volumes = 0, "", []string{"x"}
	if err := k.Validate(); strings.Count(err.Error(), "expected") != 3 {
		t.Errorf("expected three mistakes, found %v", err)
	}
}

// TestKubernetesStrings: a YAML string of the manifests is JSON too, apart from the escapes \a, \v,
// \x and \U. So every YAML reader agrees on it.
func TestKubernetesStrings(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "a b", `"\`, "\n\t\r\f\b", "é漢🙂", "\u2028", "$x"} {
		var back string
		if err := json.Unmarshal([]byte(literal(s)), &back); err != nil || expanded(back) != s {
			t.Errorf("%q: %s, %v", s, literal(s), err)
		}
	}
}
