package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
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
	// With these paces a file takes about a third of a second, or one.
	quick = "9"
	slow  = "3"
)

// batch makes the batch of a test in the claim recordings: 60 files and a scenario.
func (c *cluster) batch(scenario string) {
	c.Helper()
	audio := filepath.Join(c.claim("recordings"), "audio")
	c.run("", os.Getenv("VRAMSOAK"), "fixtures", "audio", audio, "--count", strconv.Itoa(files),
		"--seconds", "5-6", "--seed", "1")
	text, err := os.ReadFile(filepath.Join("../../../fixtures/scenarios", scenario))
	if err != nil {
		c.Fatal(err)
	}
	write(c.T, filepath.Join(c.claim("recordings"), "scenario.yaml"), string(text))
}

// soak returns the flags and the pipeline of a soak of the batch that is in the folder data.
func soak(data, pace string, more ...string) []string {
	return slices.Concat([]string{
		"--files", data + "/audio", "--repeat", strconv.Itoa(rounds), "--feed", "stdin",
		"--settle-limit", "0",
	}, more, []string{
		"--", "vramsoak", "simulate", data + "/scenario.yaml", "--stdin", "--pace", pace,
		"--segments=false",
	})
}

// start starts the soak of the batch on the cluster, as a run that has the name night.
func (c *cluster) start(pace string, more ...string) {
	c.Helper()
	c.kubectl(c.manifests(c.night(pace, more...)...), "apply", "--validate=strict", "-f", "-")
}

// night returns the flags of vramsoak job kubernetes for the run night.
func (c *cluster) night(pace string, more ...string) []string {
	return soak("/data", pace, slices.Concat([]string{
		"--image", "none", "--shards", strconv.Itoa(shards), "--run", "night",
		"--volume", "soaks:/runs", "--volume", "recordings:/data:ro", "--namespace", c.namespace,
		"--cpu", "500m", "--termination-grace", "10s",
	}, more)...)
}

// A verdict is what the tests compare of a verdict.
type verdict struct {
	verdict  string
	files    int
	exitCode int
	checks   map[string]string // the worst verdict of each check that gates
}

// judge judges a run with vramsoak check.
func (c *cluster) judge(run string) verdict {
	c.Helper()
	cmd := exec.Command(os.Getenv("VRAMSOAK"), "check", "--format", "json", run)
	out, err := cmd.Output()
	if cmd.ProcessState == nil {
		c.Fatal(err)
	}
	var v struct {
		Verdict  string
		Files    int
		Findings []struct {
			Check, Verdict string
			Gates          bool
		}
	}
	if err := json.Unmarshal(out, &v); err != nil {
		c.Fatalf("%v: %s", err, out)
	}
	worse := []string{"", "skipped", "pass", "undecided", "fail"} // from the best on
	checks := map[string]string{}
	for _, f := range v.Findings {
		if f.Gates && slices.Index(worse, f.Verdict) > slices.Index(worse, checks[f.Check]) {
			checks[f.Check] = f.Verdict
		}
	}
	return verdict{v.Verdict, v.Files, cmd.ProcessState.ExitCode(), checks}
}

// unsharded soaks the batch on this machine, in one process, and returns the verdict.
func (c *cluster) unsharded() verdict {
	c.Helper()
	data, runs := c.claim("recordings"), c.TempDir()
	args := append([]string{"soak", "--runs", runs, "--run", "night"}, soak(data, "100")...)
	cmd := exec.Command(os.Getenv("VRAMSOAK"), args...)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(os.Getenv("VRAMSOAK"))+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() > 1 {
		c.Fatalf("%v: %s", err, out)
	}
	return c.judge(filepath.Join(runs, "night"))
}

// runFolder returns the folder of the run night on this machine.
func (c *cluster) runFolder() string {
	if c.bucket != "" {
		return filepath.Join(c.bucket, "night")
	}
	return filepath.Join(c.claim("soaks"), "night")
}

// logOf returns the log of a shard, or "". In a bucket it is in pieces: LEASE/PIECE.
func (c *cluster) logOf(shard int) string {
	path := filepath.Join(c.runFolder(), fmt.Sprintf("shard-%04d", shard), "soak.log")
	pieces := []string{path}
	if leases, err := filepath.Glob(filepath.Join(path, "*")); err == nil && len(leases) > 0 {
		pieces, err = filepath.Glob(filepath.Join(leases[len(leases)-1], "*"))
		if err != nil {
			c.Fatal(err)
		}
	}
	var log strings.Builder
	for _, piece := range pieces {
		text, err := os.ReadFile(piece)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			c.Fatal(err)
		}
		log.Write(text)
	}
	return log.String()
}

var fileEnd = regexp.MustCompile(`(?m)^\[vramsoak\] file-end .*\bindex=(\d+) .*$`)

// done returns how often each file of all rounds has ended, by its place in the batch.
func (c *cluster) done() map[int]int {
	done := map[int]int{}
	for shard := 1; shard <= shards; shard++ {
		for _, m := range fileEnd.FindAllStringSubmatch(c.logOf(shard), -1) {
			if strings.HasSuffix(m[0], " error=interrupted") {
				continue // it is done again
			}
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
func (c *cluster) complete() {
	c.Helper()
	done := c.done()
	var missing, twice []int
	for place := 1; place <= rounds*files; place++ {
		switch done[place] {
		case 0:
			missing = append(missing, place)
		case 1:
		default:
			twice = append(twice, place)
		}
	}
	if missing != nil || twice != nil || len(done) != rounds*files {
		c.Errorf("%d files were done, want %d; missing: %v; done again: %v", len(done), rounds*files,
			missing, twice)
	}
}

// works waits until each shard has ended so many files more than now.
func (c *cluster) works(more int) {
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
// and with what vramsoak check says of the run here, which is a folder or the address of a bucket.
func (c *cluster) judged(run string) {
	c.Helper()
	want := c.unsharded()
	end := c.ended("night-judge", 3*time.Minute)
	if want.exitCode == 0 && end.Type != batch.JobComplete ||
		want.exitCode != 0 && !strings.Contains(end.Message, fmt.Sprintf("exit code %d", want.exitCode)) {
		c.Errorf("the judge's Job: %s %s, want exit code %d", end.Type, end.Message, want.exitCode)
	}
	if got := c.judge(run); !reflect.DeepEqual(got, want) {
		c.Errorf("the verdict is %+v, that of an unsharded run is %+v", got, want)
	}
	c.Logf("verdict of the shards and of an unsharded run: %+v\n%s", want,
		c.kubectl("", "logs", "job/night-judge"))
}

// ownFailures returns the pods that the Job counts as failures of their shards.
func (c *cluster) ownFailures() int32 { return c.job("night").Status.Failed }

// TestUndisturbed: from the manifests to the verdict, with nothing in between.
func TestUndisturbed(t *testing.T) {
	c := newCluster(t, true)
	c.batch("transcription-after.yaml")
	c.start(quick)
	// kubectl logs -f shows how the judge waits, and then the verdict.
	c.until(time.Minute, "the judge runs", func() bool { return len(c.running("night-judge")) == 1 })
	text := c.kubectl("", "logs", "-f", "job/night-judge")
	if !strings.Contains(text, "waiting for night: 0 of 8 shards complete, 8 pods active") ||
		!strings.Contains(text, "waiting for night: Complete") || !strings.Contains(text, "240 files") {
		t.Errorf("the judge's log is\n%s", text)
	}
	c.complete()
	c.judged(c.runFolder())
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
	c.start(quick)
	if end := c.ended("night", 2*time.Minute); end.Type != batch.JobComplete {
		t.Errorf("the shards: %s %s; their evidence is complete, whatever it shows", end.Type,
			end.Message)
	}
	c.complete()
	c.judged(c.runFolder())
	if n := c.job("night-judge").Status.Failed; n != 1 {
		t.Errorf("%d pods of the judge failed, want 1", n)
	}
}

// TestDisturbed: pods are deleted, evicted and killed, and a node is lost. Each shard continues
// where its log ends.
func TestDisturbed(t *testing.T) {
	c := newCluster(t, true)
	c.batch("transcription-after.yaml")
	c.start(quick)
	c.until(time.Minute, "8 pods run", func() bool { return len(c.running("night")) == shards })
	c.works(3)
	pods := c.running("night")
	lost := pods["0"].Spec.NodeName
	var stay []string // the pods on the other node
	for _, i := range slices.Sorted(maps.Keys(pods)) {
		if pods[i].Spec.NodeName != lost {
			stay = append(stay, i)
		}
	}
	if len(stay) != shards/2 {
		t.Fatalf("%d pods are on the node that stays, want half of them", len(stay))
	}
	c.deletePod(pods[stay[0]])
	c.evict(pods[stay[1]])
	c.kill(pods[stay[2]])
	c.lose(lost)
	c.outOfService(lost)
	if end := c.ended("night", 3*time.Minute); end.Type != batch.JobComplete {
		t.Errorf("the shards: %s %s", end.Type, end.Message)
	}
	c.complete()
	c.judged(c.runFolder())
	// An eviction and a lost node are no failures of the shards.
	if n := c.ownFailures(); n != 2 {
		t.Errorf("%d pods count as failures, want the deleted and the killed one", n)
	}
	for shard := 1; shard <= shards; shard++ {
		resumed := strings.Contains(c.logOf(shard), "[vramsoak] resume ")
		if disturbed := strconv.Itoa(shard-1) != stay[3]; resumed != disturbed {
			t.Errorf("shard %d was resumed: %v, want %v", shard, resumed, disturbed)
		}
	}
}

// TestCutOff: a node is cut off the network and its pods go on, while others take their shards
// over. What the old ones write after that is no evidence.
func TestCutOff(t *testing.T) {
	c := newCluster(t, true)
	c.batch("transcription-after.yaml")
	c.start(slow)
	c.until(time.Minute, "8 pods run", func() bool { return len(c.running("night")) == shards })
	c.works(3)
	cut := c.running("night")["3"].Spec.NodeName
	before := c.done()
	c.cut(cut)
	c.works(2)
	if len(c.done()) <= len(before) {
		t.Error("no file ended on the node that is cut off")
	}
	c.outOfService(cut)
	if end := c.ended("night", 3*time.Minute); end.Type != batch.JobComplete {
		t.Errorf("the shards: %s %s", end.Type, end.Message)
	}
	c.complete()
	c.judged(c.runFolder())
	taken := 0
	for shard := 1; shard <= shards; shard++ {
		if strings.Contains(c.logOf(shard), " lease=2 ") {
			taken++
		}
	}
	if taken == 0 {
		t.Error("no shard was taken over while its old pod went on")
	}
}

// TestRandom: pods are deleted, evicted and killed at random times.
func TestRandom(t *testing.T) {
	const disruptions = 16
	c := newCluster(t, true)
	c.batch("transcription-after.yaml")
	c.start(slow, "--retries", strconv.Itoa(disruptions))
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	did := map[string]bool{} // the pods that were disrupted, by name
	failures := int32(0)     // disruptions that count as failures
	for len(did) < disruptions {
		time.Sleep(time.Duration(random.IntN(2000)) * time.Millisecond)
		pods := c.running("night")
		indexes := slices.Sorted(maps.Keys(pods))
		if len(indexes) == 0 {
			if c.job("night").Status.Succeeded == shards {
				t.Fatalf("the shards ended after %d disruptions, want %d", len(did), disruptions)
			}
			continue
		}
		pod := pods[indexes[random.IntN(len(indexes))]]
		if did[pod.Name] {
			continue // it is ending
		}
		did[pod.Name] = true
		switch random.IntN(3) {
		case 0:
			c.evict(pod)
			continue
		case 1:
			c.deletePod(pod)
		default:
			c.kill(pod)
		}
		failures++
	}
	if end := c.ended("night", 10*time.Minute); end.Type != batch.JobComplete {
		t.Errorf("the shards: %s %s", end.Type, end.Message)
	}
	c.complete()
	c.judged(c.runFolder())
	if n := c.ownFailures(); n != failures {
		t.Errorf("%d pods count as failures, want %d", n, failures)
	}
}

// TestSuspended: Kueue starts, preempts and starts a Job again by its field suspend. The shards
// continue.
func TestSuspended(t *testing.T) {
	c := newCluster(t, true)
	c.batch("transcription-after.yaml")
	c.start(quick, "--kueue-queue", "nightly", "--retries", "0")
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
	c.judged(c.runFolder())
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
	c.start(quick, "--retries", "1")
	c.until(time.Minute, "7 pods run", func() bool {
		return len(c.running("night")) == shards-1 && c.ownFailures() == 1
	})
	for range 2 { // once more than --retries
		c.until(time.Minute, "index 6 runs", func() bool {
			return c.running("night")["6"].Name != "" && fileEnd.MatchString(c.logOf(7))
		})
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
	for _, want := range []string{"failed indexes: 3,6", "shard 4 never started", "shard 7 was cut short"} {
		if !strings.Contains(text, want) {
			t.Errorf("the judge does not say %q", want)
		}
	}
}

// TestRefused: if all shards are refused, each index fails at once, and the Job ends.
func TestRefused(t *testing.T) {
	c := newCluster(t, false)
	c.batch("transcription-after.yaml")
	args := c.night(quick, "--judge", "none")
	args[slices.Index(args, "--")+1] = "no-such-program"
	c.kubectl(c.manifests(args...), "apply", "-f", "-")
	end := c.ended("night", time.Minute)
	status := c.job("night").Status
	if end.Type != batch.JobFailed || *status.FailedIndexes != "0-7" || status.Failed != shards {
		t.Errorf("%s %s: failed %s, %d pods", end.Type, end.Message, *status.FailedIndexes, status.Failed)
	}
	pods, err := c.CoreV1().Pods(c.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		text := c.kubectl("", "logs", pod.Name)
		if !strings.Contains(text, "no-such-program") {
			t.Errorf("the log of %s does not name the missing program: %s", pod.Name, text)
		}
	}
}

// TestContinued: a run that was deleted goes on when the same manifests are applied again.
func TestContinued(t *testing.T) {
	c := newCluster(t, true)
	c.batch("transcription-after.yaml")
	manifests := c.manifests(c.night(quick, "--judge", "suspended", "--at-once", "4")...)
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
	c.judged(c.runFolder())
}
