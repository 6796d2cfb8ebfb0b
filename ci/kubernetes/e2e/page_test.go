package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestPage follows docs/how-to/cluster.md: it runs the commands of its Kubernetes part in their
// order, with a simulated pipeline in place of the one of the page.
func TestPage(t *testing.T) {
	c := connect(t)
	c.follow(true)
	page, err := os.ReadFile("../../../docs/how-to/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(page), "\n## Kubernetes\n")
	part, _, found := strings.Cut(part, "\n## ")
	if !found {
		t.Fatal("the page has no part on Kubernetes")
	}
	c.newClaim("recordings")
	c.batch("transcription-after.yaml")
	dir := t.TempDir()
	t.Cleanup(func() {
		c.kubectl("", "delete", "--ignore-not-found", "job", "--all")
		c.kubectl("", "delete", "pvc", "--all", "--wait=false")
	})
	const pipeline = "-- python3 transcribe.py --list {list}"
	simulated := strings.Join(soak("/data", quick)[2:], " ")
	ran := 0
	for _, m := range regexp.MustCompile("(?ms)^```(sh|yaml)(?: ([^\n]*))?\n(.*?)^```$").
		FindAllStringSubmatch(part, -1) {
		switch {
		case m[1] == "yaml":
			write(t, filepath.Join(dir, m[2]), m[3])
			continue
		case strings.Contains(m[2], "bucket"): // TestBucket has one
			continue
		}
		ran++
		c.log.add("TEST runs the commands of the page:\n%s", m[3])
		cmd := exec.Command("bash", "-e", "-o", "pipefail", "-c",
			strings.ReplaceAll(m[3], pipeline, simulated))
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(os.Getenv("KUBECTL"))+":"+
			filepath.Dir(os.Getenv("VRAMSOAK"))+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		c.log.add("TEST:\n%s", out)
		if err != nil {
			t.Fatalf("%v, in\n%s\n%s", err, m[3], out)
		}
	}
	if ran < 4 {
		t.Errorf("the page has %d blocks of commands, want 4 or more", ran)
	}
	// The last block has deleted the Jobs and applied them again: nothing is left to do.
	c.until(time.Minute, "the judge has ended again", func() bool {
		job, err := c.BatchV1().Jobs("default").Get(context.Background(), "nightly-42-judge",
			metav1.GetOptions{})
		return err == nil && job.Status.Succeeded == 1
	})
}
