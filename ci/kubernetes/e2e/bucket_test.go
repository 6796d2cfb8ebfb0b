package e2e

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	batch "k8s.io/api/batch/v1"
)

// A store is an S3 server, which keeps its objects as files.
type store struct {
	c    *cluster
	addr string
	dir  string
	cmd  *exec.Cmd
}

// credentials are those of the store.
var credentials = []string{
	"AWS_ACCESS_KEY_ID=AKIAVRAMSOAKTEST", "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIK7MDENGbPxRfiCY",
	"AWS_REGION=us-east-1",
}

// newStore starts a store with the bucket soaks.
func (c *cluster) newStore() *store {
	c.Helper()
	if os.Getenv("VERSITYGW") == "" {
		c.Skip("not run: expected an S3 server in VERSITYGW, which ci/s3/build.sh builds, found none")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.Fatal(err)
	}
	s := &store{c: c, addr: l.Addr().String(), dir: c.TempDir()}
	_ = l.Close()
	for _, name := range []string{"meta", filepath.Join("data", "soaks")} {
		if err := os.MkdirAll(filepath.Join(s.dir, name), 0o755); err != nil {
			c.Fatal(err)
		}
	}
	s.start()
	c.Cleanup(s.kill)
	return s
}

func (s *store) start() {
	s.c.Helper()
	s.cmd = exec.Command(os.Getenv("VERSITYGW"), "--port", s.addr, "--quiet", "posix", "--sidecar",
		filepath.Join(s.dir, "meta"), filepath.Join(s.dir, "data"))
	for _, v := range credentials {
		v = strings.Replace(v, "AWS_ACCESS_KEY_ID", "ROOT_ACCESS_KEY", 1)
		s.cmd.Env = append(s.cmd.Env, strings.Replace(v, "AWS_SECRET_ACCESS_KEY", "ROOT_SECRET_KEY", 1))
	}
	if err := s.cmd.Start(); err != nil {
		s.c.Fatal(err)
	}
	s.c.until(time.Minute, "the S3 server answers", func() bool {
		conn, err := net.Dial("tcp", s.addr)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}

func (s *store) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// TestBucket: the run is in a bucket, and no pod has a volume for it. A pod is killed, a node is
// lost, and the store is killed and started again.
func TestBucket(t *testing.T) {
	c := newCluster(t, true)
	c.batch("transcription-after.yaml")
	s := c.newStore()
	c.bucket = filepath.Join(s.dir, "data", "soaks", "speech")
	args := []string{"create", "secret", "generic", "bucket-keys"}
	for _, v := range credentials {
		args = append(args, "--from-literal="+v)
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	c.kubectl("", args...)
	address := "s3://soaks/speech?use_path_style=true&endpoint=http://" + s.addr
	c.start(slow, "--runs", address, "--env-from", "bucket-keys")
	c.until(time.Minute, "8 pods run", func() bool { return len(c.running("night")) == shards })
	c.works(2)
	c.log.add("TEST kills the store")
	s.kill()
	time.Sleep(3 * time.Second)
	c.log.add("TEST starts the store again")
	s.start()
	c.works(2)
	pods := c.running("night")
	lost := pods["0"].Spec.NodeName
	for i, pod := range pods {
		if pod.Spec.NodeName != lost {
			c.log.add("index %s:", i)
			c.kill(pod)
			break
		}
	}
	c.lose(lost)
	c.outOfService(lost)
	if end := c.ended("night", 5*time.Minute); end.Type != batch.JobComplete {
		t.Errorf("the shards: %s %s", end.Type, end.Message)
	}
	c.complete()
	c.judged("s3://soaks/speech/night?use_path_style=true&endpoint=http://" + s.addr)
	for shard := 1; shard <= shards; shard++ {
		for _, v := range credentials[:2] {
			_, secret, _ := strings.Cut(v, "=")
			if strings.Contains(c.logOf(shard), secret) {
				t.Errorf("the log of shard %d has a credential", shard)
			}
		}
	}
}
