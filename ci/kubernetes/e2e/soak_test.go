package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	batch "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	shards = 8
	files  = 60
	// rounds is how often the batch is soaked, so that each shard has enough files to be judged.
	rounds = 4
	// pace makes a file take about a third of a second.
	pace = "9"
)

// batch makes the batch of a test in the claim recordings: 60 files and a scenario.
func (c cluster) batch(scenario string) {
	c.Helper()
	c.run("", os.Getenv("VRAMSOAK"), "fixtures", "audio", filepath.Join(c.claim("recordings"), "audio"),
		"--count", strconv.Itoa(files), "--seconds", "5-6", "--seed", "1")
	text, err := os.ReadFile(filepath.Join("../../../fixtures/scenarios", scenario))
	if err != nil {
		c.Fatal(err)
	}
	write(c.T, filepath.Join(c.claim("recordings"), "scenario.yaml"), string(text))
}

// soak returns the command line of a soak of the batch that is in the folder data, after the name of
// vramsoak's command.
func soak(data string, more ...string) []string {
	return slices.Concat([]string{
		"--files", data + "/audio", "--repeat", strconv.Itoa(rounds), "--feed", "stdin",
		"--settle-limit", "0",
	}, more, []string{
		"--", "vramsoak", "simulate", data + "/scenario.yaml", "--stdin", "--pace", pace,
		"--segments=false",
	})
}

// start starts the soak of the batch on the cluster, as a run that has the name night.
func (c cluster) start(more ...string) {
	c.Helper()
	c.kubectl(c.manifests(c.night(more...)...), "apply", "--validate=strict", "-f", "-")
}

// night returns the flags of vramsoak job kubernetes for the run night.
func (c cluster) night(more ...string) []string {
	return soak("/data", slices.Concat([]string{
		"--image", "none", "--shards", strconv.Itoa(shards), "--run", "night",
		"--volume", "soaks:/runs", "--volume", "recordings:/data:ro", "--namespace", c.namespace,
		"--cpu", "500m", "--termination-grace", "10s",
	}, more)...)
}

// A verdict is what the tests compare of a verdict.
type verdict struct {
	Verdict  string
	Files    int
	ExitCode int
}

// judge judges a run with vramsoak check.
func (c cluster) judge(run string) verdict {
	c.Helper()
	cmd := exec.Command(os.Getenv("VRAMSOAK"), "check", "--format", "json", run)
	out, err := cmd.Output()
	if cmd.ProcessState == nil {
		c.Fatal(err)
	}
	var v struct {
		Verdict string `json:"verdict"`
		Summary struct {
			Files int `json:"files"`
		} `json:"summary"`
	}
	if err := json.Unmarshal(out, &v); err != nil {
		c.Fatalf("%v: %s", err, out)
	}
	return verdict{v.Verdict, v.Summary.Files, cmd.ProcessState.ExitCode()}
}

// unsharded soaks the batch on this machine, in one process, and returns the verdict.
func (c cluster) unsharded() verdict {
	c.Helper()
	data, runs := c.claim("recordings"), c.TempDir()
	args := append([]string{"soak", "--runs", runs, "--run", "night"}, soak(data)...)
	args[slices.Index(args, "--pace")+1] = "1000"
	cmd := exec.Command(os.Getenv("VRAMSOAK"), args...)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(os.Getenv("VRAMSOAK"))+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() > 1 {
		c.Fatalf("%v: %s", err, out)
	}
	return c.judge(filepath.Join(runs, "night"))
}

// logOf returns the log of a shard, or "".
func (c cluster) logOf(shard int) string {
	text, err := os.ReadFile(filepath.Join(c.claim("soaks"), "night", fmt.Sprintf("shard-%04d", shard),
		"soak.log"))
	if err != nil {
		return ""
	}
	return string(text)
}

var fileEnd = regexp.MustCompile(`(?m)^\[vramsoak\] file-end .*\bindex=(\d+) .*\bstatus=ok\b`)

// done returns how often each file of all rounds has ended ok, by its place in the batch.
func (c cluster) done() map[int]int {
	done := map[int]int{}
	for shard := 1; shard <= shards; shard++ {
		for _, m := range fileEnd.FindAllStringSubmatch(c.logOf(shard), -1) {
			place, err := strconv.Atoi(m[1])
			if err != nil {
				c.Fatal(err)
			}
			done[place]++
		}
	}
	return done
}

// complete checks that each file has ended once.
func (c cluster) complete() {
	c.Helper()
	done := c.done()
	for place := 1; place <= rounds*files; place++ {
		if done[place] != 1 {
			c.Errorf("file %d was done %d times", place, done[place])
		}
	}
	if len(done) != rounds*files {
		c.Errorf("%d files were done, want %d", len(done), rounds*files)
	}
}

// works waits until each shard has ended so many files more than now.
func (c cluster) works(more int) {
	c.Helper()
	before := map[int]int{}
	count := func(shard int) int { return len(fileEnd.FindAllString(c.logOf(shard), -1)) }
	for shard := 1; shard <= shards; shard++ {
		before[shard] = count(shard)
	}
	c.until(time.Minute, fmt.Sprintf("each shard ends %d files", more), func() bool {
		for shard := 1; shard <= shards; shard++ {
			if count(shard) < before[shard]+more {
				return false
			}
		}
		return true
	})
}

// judged waits until the judge has ended, and compares its verdict with the one of an unsharded run
// and with what vramsoak check says.
func (c cluster) judged() {
	c.Helper()
	want := c.unsharded()
	end := c.ended("night-judge", 3*time.Minute)
	if want.ExitCode == 0 && end.Type != batch.JobComplete ||
		want.ExitCode != 0 && !strings.Contains(end.Message, fmt.Sprintf("exit code %d", want.ExitCode)) {
		c.Errorf("the judge's Job: %s %s, want exit code %d", end.Type, end.Message, want.ExitCode)
	}
	if got := c.judge(filepath.Join(c.claim("soaks"), "night")); got != want {
		c.Errorf("the verdict is %+v, that of an unsharded run is %+v", got, want)
	}
	c.Logf("verdict of the shards and of an unsharded run: %+v\n%s", want,
		c.kubectl("", "logs", "job/night-judge"))
}

// ownFailures returns the pods that the Job counts as failures of their shards.
func (c cluster) ownFailures() int32 { return c.job("night").Status.Failed }

// TestUndisturbed: from the manifests to the verdict, with nothing in between.
func TestUndisturbed(t *testing.T) {
	c := newCluster(t, true)
	c.batch("transcription-after.yaml")
	c.start()
	// kubectl logs -f shows how the judge waits, and then the verdict.
	c.until(time.Minute, "the judge runs", func() bool { return len(c.running("night-judge")) == 1 })
	text := c.kubectl("", "logs", "-f", "job/night-judge")
	if !strings.Contains(text, "waiting for night: 0 of 8 shards complete, 8 pods active") ||
		!strings.Contains(text, "waiting for night: Complete") || !strings.Contains(text, "240 files") {
		t.Errorf("the judge's log is\n%s", text)
	}
	c.complete()
	c.judged()
	if n := c.ownFailures(); n != 0 {
		t.Errorf("%d pods failed", n)
	}
	for _, node := range []string{"node-a", "node-b"} {
		if !strings.Contains(c.logOf(1)+c.logOf(2)+c.logOf(3)+c.logOf(4), "node="+node) {
			t.Errorf("no log names %s", node)
		}
	}
}

// TestLeak: a run that fails is not repeated, and the judge's Job says the exit code.
func TestLeak(t *testing.T) {
	c := newCluster(t, true)
	c.batch("transcription-before.yaml")
	c.start()
	if end := c.ended("night", 2*time.Minute); end.Type != batch.JobComplete {
		t.Errorf("the shards: %s %s; their evidence is complete, whatever it shows", end.Type,
			end.Message)
	}
	c.complete()
	c.judged()
	if n := c.job("night-judge").Status.Failed; n != 1 {
		t.Errorf("%d pods of the judge failed, want 1", n)
	}
}

// TestDisturbed: pods are deleted, evicted and killed, and a node is lost. Each shard continues where
// its log ends.
func TestDisturbed(t *testing.T) {
	c := newCluster(t, true)
	c.batch("transcription-after.yaml")
	c.start()
	c.until(time.Minute, "8 pods run", func() bool { return len(c.running("night")) == shards })
	c.works(3)
	pods := c.running("night")
	c.deletePod(pods["0"])
	c.evict(pods["1"])
	c.kill(pods["2"])
	// The node of index 3 is lost. Three of the shards on it were not touched until now.
	lost := pods["3"].Spec.NodeName
	untouched := 0
	for i, pod := range pods {
		if i > "2" && pod.Spec.NodeName == lost {
			untouched++
		}
	}
	c.lose(lost)
	c.until(time.Minute, "the pods of "+lost+" are terminating", func() bool {
		for _, pod := range c.running("night") {
			if pod.Spec.NodeName == lost {
				return false
			}
		}
		return true
	})
	c.outOfService(lost)
	if end := c.ended("night", 3*time.Minute); end.Type != batch.JobComplete {
		t.Errorf("the shards: %s %s", end.Type, end.Message)
	}
	c.complete()
	c.judged()
	// The deleted pod and the killed one count, the evicted one and those of the lost node do not.
	// If the node was lost before the first two were reported, they do not count either.
	if n := c.ownFailures(); n > 2 {
		t.Errorf("%d pods count as failures, want the deleted and the killed one at most", n)
	}
	if untouched < 1 {
		t.Error("no shard on the lost node was untouched before")
	}
	for shard := 1; shard <= shards; shard++ {
		moved := strings.Contains(c.logOf(shard), "[vramsoak] resume ")
		disturbed := shard <= 3 || pods[strconv.Itoa(shard-1)].Spec.NodeName == lost
		if moved != disturbed {
			t.Errorf("shard %d was resumed: %v, want %v", shard, moved, disturbed)
		}
	}
}

// TestSuspended: Kueue starts, preempts and starts a Job again by its field suspend. The shards
// continue.
func TestSuspended(t *testing.T) {
	c := newCluster(t, true)
	c.batch("transcription-after.yaml")
	c.start("--kueue-queue", "nightly", "--retries", "0")
	suspend := func(job string, yes bool) {
		c.log.add("TEST sets suspend of job %s to %v, as Kueue does", job, yes)
		_, err := c.BatchV1().Jobs(c.namespace).Patch(t.Context(), job, types.MergePatchType,
			fmt.Appendf(nil, `{"spec":{"suspend":%v}}`, yes), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(time.Second)
	if n := len(c.running("night")) + len(c.running("night-judge")); n != 0 {
		t.Errorf("%d pods run before the queue has room", n)
	}
	suspend("night-judge", false)
	suspend("night", false)
	c.until(time.Minute, "8 pods run", func() bool { return len(c.running("night")) == shards })
	c.works(3)
	suspend("night", true)
	c.until(time.Minute, "no pod runs", func() bool {
		job := c.job("night")
		return job.Status.Active == 0 && len(c.running("night")) == 0
	})
	before := len(c.done())
	if before >= rounds*files {
		t.Fatal("the run had ended before the preemption")
	}
	suspend("night", false)
	if end := c.ended("night", 3*time.Minute); end.Type != batch.JobComplete {
		t.Errorf("the shards: %s %s", end.Type, end.Message)
	}
	c.complete()
	c.judged()
}

// TestExitCodes: exit code 2 ends a shard at once, a killed shard runs again as often as --retries
// says, and neither stops the other shards. The judge names the shards that are not complete.
func TestExitCodes(t *testing.T) {
	c := newCluster(t, true)
	c.batch("transcription-after.yaml")
	// Shard 4 has the folder of another command, which vramsoak refuses to mix with this one.
	folder := filepath.Join(c.claim("soaks"), "night", "shard-0004")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "run.json"), `{"command":["another"],"reason":"killed"}`)
	c.start("--retries", "1")
	c.until(time.Minute, "7 pods run", func() bool {
		return len(c.running("night")) == shards-1 && c.ownFailures() == 1
	})
	for range 2 { // once more than --retries
		c.until(time.Minute, "index 6 runs", func() bool { return c.running("night")["6"].Name != "" })
		c.kill(c.running("night")["6"])
		c.until(time.Minute, "index 6 has failed", func() bool {
			return c.running("night")["6"].Name == ""
		})
	}
	end := c.ended("night", 3*time.Minute)
	status := c.job("night").Status
	if end.Type != batch.JobFailed || status.CompletedIndexes != "0-2,4,5,7" ||
		*status.FailedIndexes != "3,6" || status.Failed != 3 || status.Succeeded != shards-2 {
		t.Errorf("the shards: %s %s; completed %s, failed %s; pods: %d succeeded, %d failed", end.Type,
			end.Message, status.CompletedIndexes, *status.FailedIndexes, status.Succeeded, status.Failed)
	}
	end = c.ended("night-judge", time.Minute)
	text := c.kubectl("", "logs", "job/night-judge")
	t.Logf("the judge: %s %s\n%s", end.Type, end.Message, text)
	if end.Type != batch.JobFailed {
		t.Errorf("the judge's Job: %s %s", end.Type, end.Message)
	}
	for _, want := range []string{"failed indexes: 3,6", "shard 4", "shard 7"} {
		if !strings.Contains(text, want) {
			t.Errorf("the judge does not say %q", want)
		}
	}
}

// TestRefused: if all shards are refused, each index fails at once, and the Job ends.
func TestRefused(t *testing.T) {
	c := newCluster(t, false)
	c.batch("transcription-after.yaml")
	args := c.night("--judge", "none")
	args[slices.Index(args, "--")+1] = "no-such-program"
	c.kubectl(c.manifests(args...), "apply", "-f", "-")
	end := c.ended("night", time.Minute)
	if status := c.job("night").Status; end.Type != batch.JobFailed || *status.FailedIndexes != "0-7" ||
		status.Failed != shards {
		t.Errorf("%s %s: failed %s, %d pods", end.Type, end.Message, *status.FailedIndexes, status.Failed)
	}
	pods, err := c.CoreV1().Pods(c.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		text := c.kubectl("", "logs", pod.Name)
		if !strings.Contains(text, "no-such-program") {
			t.Errorf("the log of %s does not say what is wrong: %s", pod.Name, text)
		}
	}
}

// TestContinued: a run that was deleted goes on when the same manifests are applied again.
func TestContinued(t *testing.T) {
	c := newCluster(t, true)
	c.batch("transcription-after.yaml")
	manifests := c.manifests(c.night("--judge", "suspended", "--at-once", "4")...)
	c.kubectl(manifests, "apply", "-f", "-")
	c.until(time.Minute, "4 pods run", func() bool { return len(c.running("night")) == 4 })
	c.until(time.Minute, "files end", func() bool { return len(c.done()) > 20 })
	c.log.add("TEST deletes all objects")
	c.kubectl(manifests, "delete", "-f", "-")
	before := c.done()
	c.log.add("TEST applies the manifests again")
	c.kubectl(manifests, "apply", "-f", "-")
	most := 0
	c.until(2*time.Minute, "the shards end", func() bool {
		most = max(most, len(c.running("night")))
		return c.job("night").Status.Succeeded == shards
	})
	if most > 4 {
		t.Errorf("%d pods ran at the same time, want 4 at most", most)
	}
	for place := range maps.Keys(before) {
		if c.done()[place] != 1 {
			t.Errorf("file %d, which was done before, is done %d times", place, c.done()[place])
		}
	}
	c.complete()
	if _, err := c.BatchV1().Jobs(c.namespace).Get(t.Context(), "night-judge",
		metav1.GetOptions{}); err != nil || len(c.running("night-judge")) > 0 {
		t.Errorf("the judge: %v, or it began by itself", err)
	}
	c.kubectl("", "patch", "job/night-judge", "-p", `{"spec":{"suspend":false}}`)
	c.judged()
}
