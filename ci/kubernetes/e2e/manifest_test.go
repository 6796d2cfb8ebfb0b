package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	batch "k8s.io/api/batch/v1"
)

// post sends each manifest to the API server as it is written, so that the server sees duplicate
// keys too. The server validates it strictly and does not keep it. It returns how many there are.
func (c *cluster) post(manifests string) (n int, err error) {
	resources := map[string]string{
		"Job":         "batch/v1 jobs",
		"Role":        "rbac.authorization.k8s.io/v1 roles",
		"RoleBinding": "rbac.authorization.k8s.io/v1 rolebindings",
	}
	for _, text := range strings.Split(manifests, "\n---\n") {
		kind := regexp.MustCompile(`(?m)^kind: (\w+)$`).FindStringSubmatch(text)
		if kind == nil || resources[kind[1]] == "" {
			return n, fmt.Errorf("expected one of %v, found %s", resources, text)
		}
		group, resource, _ := strings.Cut(resources[kind[1]], " ")
		err := c.BatchV1().RESTClient().Post().AbsPath("/apis", group, "namespaces", c.namespace,
			resource).Param("fieldValidation", "Strict").Param("dryRun", "All").
			SetHeader("Content-Type", "application/yaml").Body([]byte(text)).
			Do(context.Background()).Error()
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// TestStrict: the API server accepts the manifests for each flag, each pair of flags, and all flags
// together, with each kind of judge, and with a volume and a bucket.
func TestStrict(t *testing.T) {
	c := newCluster(t, false)
	flags := [][]string{
		{"--at-once", "4"},
		{"--gpus-per-pod", "0"},
		{"--gpus-per-pod", "2", "--gpus", "all"},
		{"--gpu-resource", "amd.com/gpu"},
		{"--gpu-resource", "nvidia.com/mig-1g.10gb"},
		{"--cpu", "500m"},
		{"--memory", "16Gi"},
		{"--shm", "8Gi"},
		{"--volume", "recordings:/data:ro"},
		{"--volume", "configmap/policy:/etc/vramsoak", "--volume", "secret/keys:/keys"},
		{"--env", "HF_HOME=/models", "--env", "EMPTY="},
		{"--env-from", "bucket-keys", "--env-from", "more.keys"},
		{"--service-account", "soaker"},
		{"--node-selector", "nvidia.com/gpu.product=NVIDIA-L4", "--node-selector", "x="},
		{"--toleration", "spot", "--toleration", "pool=gpu:NoSchedule", "--toleration", "a=b"},
		{"--toleration", "spot:NoExecute"},
		{"--retries", "0"},
		{"--max-failed-shards", "3"},
		{"--termination-grace", "90500ms"},
		{"--kueue-queue", "nightly"},
		{"--policy", "/runs/vramsoak.yaml", "--timeout", "10m", "--repeat", "4", "--shuffle", "1"},
	}
	var combinations [][]string
	for i := range flags {
		combinations = append(combinations, flags[i])
		for _, other := range flags[i+1:] {
			combinations = append(combinations, slices.Concat(flags[i], other))
		}
	}
	combinations = append(combinations, nil, slices.Concat(flags...))
	tried := 0
	for i, more := range combinations {
		judge := []string{"after", "suspended", "none"}[i%3]
		runs := [][]string{
			{"--runs", "/runs", "--volume", "soaks:/runs"}, {"--runs", "s3://soaks/speech"},
		}[i/3%2]
		args := slices.Concat([]string{
			"--image", "transcribe:42", "--shards", fmt.Sprint(1 + i%200), "--run", "nightly_42",
			"--files", "/data/batch.txt", "--namespace", c.namespace, "--judge", judge,
		}, runs, more, []string{"--", "python", "transcribe.py", "--list", "{list}"})
		n, err := c.post(c.manifests(args...))
		want := map[string]int{"after": 4, "suspended": 2, "none": 1}[judge]
		if err != nil || n != want {
			t.Errorf("%s: %d objects, want %d; %v", strings.Join(args, " "), n, want, err)
		}
		tried++
	}
	t.Logf("the API server accepted the manifests of %d command lines", tried)

	// The largest run, with the longest name.
	args := []string{
		"--image", "transcribe:42", "--shards", "100000", "--run", strings.Repeat("x", 57),
		"--files", "b", "--volume", "soaks:/runs", "--namespace", c.namespace, "--", "true",
	}
	if _, err := c.post(c.manifests(args...)); err != nil {
		t.Error(err)
	}
}

// TestStrictRefuses: the API server's validation finds mistakes in such a manifest.
func TestStrictRefuses(t *testing.T) {
	c := newCluster(t, false)
	good := c.manifests("--image", "transcribe:42", "--shards", "8", "--run", "night", "--files", "b",
		"--volume", "soaks:/runs", "--namespace", c.namespace, "--", "true")
	for name, test := range map[string]struct{ old, new, want string }{
		"unknown field": {"parallelism: 8", "paralelism: 8", `unknown field "spec.paralelism"`},
		"duplicate key": {
			"parallelism: 8", "parallelism: 8\n  parallelism: 2", `key "parallelism" already set`,
		},
		"wrong type": {"parallelism: 8", `parallelism: "8"`, "cannot unmarshal string"},
		"not indexed": {
			"completionMode: Indexed", "completionMode: NonIndexed", "requires indexed completion mode",
		},
		"restarts":   {"restartPolicy: Never", "restartPolicy: OnFailure", `only "Never" is supported`},
		"wrong name": {"name: soak", "name: Soak", `Invalid value: "Soak"`},
	} {
		bad := strings.Replace(good, test.old, test.new, 1)
		if bad == good {
			t.Errorf("%s: the manifest does not have %q", name, test.old)
		}
		if _, err := c.post(bad); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: found %v, want %q", name, err, test.want)
		}
	}
}

// TestWords: after YAML, the API server, its expansion of $(NAME), and vramsoak, the pipeline gets
// the words of the command as they were given.
func TestWords(t *testing.T) {
	c := newCluster(t, false)
	words := []string{
		"a b", "it's", `"`, `\`, `\n`, "a\n---\nkind: Job\n", "\t", "", "-x", "#", "a: b", "$HOME",
		"$(JOB_COMPLETIONS)", "$$(JOB_COMPLETIONS)", "$$$", "$", "$(", "é 漢 🙂",
		"\u2028\u0085\ufeff", "\x01\x1b\x7f", "yes", "1e3", "~", "<&>",
	}
	write(t, filepath.Join(c.claim("recordings"), "one.wav"), "")
	args := []string{
		"--image", "none", "--shards", "1", "--run", "words", "--files", "/data", "--volume",
		"soaks:/runs", "--volume", "recordings:/data:ro", "--namespace", c.namespace, "--judge", "none",
		"--env", "WORD=$(JOB_COMPLETIONS) $$x", "--settle-limit", "0", "--",
		"sh", "-c", `printf '<%s>\0' "$WORD" "$@" >/runs/words.txt
echo "[GPU Memory] Done: Allocated: 1.00GB | Total: 8.00GB"`, "sh",
	}
	c.kubectl(c.manifests(append(append(args, words...), "{}")...), "apply", "-f", "-")
	if end := c.ended("words", time.Minute); end.Type != batch.JobComplete {
		t.Errorf("the Job ended with %s %s", end.Type, end.Message)
	}
	got, err := os.ReadFile(filepath.Join(c.claim("soaks"), "words.txt"))
	if err != nil {
		t.Fatal(err)
	}
	words = append(append([]string{"$(JOB_COMPLETIONS) $$x"}, words...), "/data/one.wav")
	if want := "<" + strings.Join(words, ">\x00<") + ">\x00"; string(got) != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
