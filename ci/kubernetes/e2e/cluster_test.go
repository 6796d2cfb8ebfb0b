// Package e2e tests what vramsoak job kubernetes prints, on the cluster that run.sh has started.
package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	batch "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// A cluster is the cluster that run.sh has started, with a namespace for one test.
type cluster struct {
	*testing.T
	kubernetes.Interface
	namespace string
	log       *engineLog
	bucket    string // the folder of the runs that are in a bucket, or ""
}

// newCluster returns the cluster, with an empty namespace that has the claims soaks and recordings.
// If the test fails, it prints what happened in the namespace. With logged, it always does.
func newCluster(t *testing.T, logged bool) *cluster {
	t.Helper()
	c := connect(t)
	namespace, err := c.CoreV1().Namespaces().Create(t.Context(), &v1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: strings.ToLower(t.Name()) + "-"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.namespace = namespace.Name
	t.Cleanup(func() {
		_ = c.CoreV1().Namespaces().Delete(context.Background(), c.namespace, metav1.DeleteOptions{})
	})
	c.newClaim("soaks")
	c.newClaim("recordings")
	c.follow(logged)
	return c
}

// connect returns the cluster with the namespace default.
func connect(t *testing.T) *cluster {
	t.Helper()
	if os.Getenv("KUBECONFIG") == "" {
		t.Skip("expected KUBECONFIG, which run.sh sets, found none")
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1 // no limit
	return &cluster{T: t, Interface: kubernetes.NewForConfigOrDie(config), namespace: "default"}
}

// newClaim makes a claim.
func (c *cluster) newClaim(name string) {
	c.Helper()
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
	claim.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteMany}
	claim.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
	_, err := c.CoreV1().PersistentVolumeClaims(c.namespace).Create(context.Background(), claim,
		metav1.CreateOptions{})
	if err != nil {
		c.Fatal(err)
	}
	if err := os.MkdirAll(c.claim(name), 0o755); err != nil {
		c.Fatal(err)
	}
}

// claim returns the folder of a claim of the namespace.
func (c *cluster) claim(name string) string {
	return filepath.Join(os.Getenv("AGENT_DIR"), "claims", c.namespace, name)
}

// run runs a command and returns its output. stdin may be empty.
func (c *cluster) run(stdin string, name string, args ...string) string {
	c.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		c.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}

// kubectl runs kubectl in the namespace.
func (c *cluster) kubectl(stdin string, args ...string) string {
	c.Helper()
	return c.run(stdin, os.Getenv("KUBECTL"), append([]string{"-n", c.namespace}, args...)...)
}

// manifests returns what vramsoak job kubernetes prints.
func (c *cluster) manifests(args ...string) string {
	c.Helper()
	return c.run("", os.Getenv("VRAMSOAK"), append([]string{"job", "kubernetes"}, args...)...)
}

// until waits until done returns true.
func (c *cluster) until(limit time.Duration, what string, done func() bool) {
	c.Helper()
	start := time.Now()
	for !done() {
		if time.Since(start) > limit {
			c.Fatalf("not within %v: %s", limit, what)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// job returns a Job.
func (c *cluster) job(name string) *batch.Job {
	c.Helper()
	job, err := c.BatchV1().Jobs(c.namespace).Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		c.Fatal(err)
	}
	return job
}

// ended waits until a Job has ended and returns the condition with which it did.
func (c *cluster) ended(name string, limit time.Duration) batch.JobCondition {
	c.Helper()
	var end batch.JobCondition
	c.until(limit, name+" ends", func() bool {
		for _, k := range c.job(name).Status.Conditions {
			if k.Status == v1.ConditionTrue && (k.Type == batch.JobComplete || k.Type == batch.JobFailed) {
				end = k
			}
		}
		return end.Type != ""
	})
	return end
}

// index is the label with a pod's completion index.
const index = "batch.kubernetes.io/job-completion-index"

// running returns the running pods of a Job by their index.
func (c *cluster) running(name string) map[string]v1.Pod {
	c.Helper()
	list, err := c.CoreV1().Pods(c.namespace).List(context.Background(),
		metav1.ListOptions{LabelSelector: "batch.kubernetes.io/job-name=" + name})
	if err != nil {
		c.Fatal(err)
	}
	pods := map[string]v1.Pod{}
	for _, pod := range list.Items {
		if pod.Status.Phase == v1.PodRunning && pod.DeletionTimestamp == nil {
			pods[pod.Labels[index]] = pod
		}
	}
	return pods
}

// deletePod deletes a pod as a person does. For Kubernetes this is no disruption.
func (c *cluster) deletePod(pod v1.Pod) {
	c.Helper()
	c.log.add("TEST deletes pod %s", pod.Name)
	err := c.CoreV1().Pods(c.namespace).Delete(context.Background(), pod.Name, metav1.DeleteOptions{})
	if err != nil {
		c.Fatal(err)
	}
}

// evict evicts a pod as kubectl drain does.
func (c *cluster) evict(pod v1.Pod) {
	c.Helper()
	c.log.add("TEST evicts pod %s", pod.Name)
	err := c.CoreV1().Pods(c.namespace).EvictV1(context.Background(),
		&policy.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}})
	if err != nil {
		c.Fatal(err)
	}
}

// kill kills a pod's container with SIGKILL, as the kernel does when its memory is used up.
func (c *cluster) kill(pod v1.Pod) {
	c.Helper()
	c.log.add("TEST kills the container of pod %s", pod.Name)
	c.agent("kill?pod=" + pod.Name)
}

// lose takes a node away, as a power cut does, until the test has ended.
func (c *cluster) lose(node string) {
	c.Helper()
	c.log.add("TEST takes node %s away", node)
	c.agent("lose?node=" + node)
	c.recoverAtEnd(node)
}

// cut cuts a node off the network, until the test has ended. Its containers go on.
func (c *cluster) cut(node string) {
	c.Helper()
	c.log.add("TEST cuts node %s off the network; its containers go on", node)
	c.agent("cut?node=" + node)
	c.recoverAtEnd(node)
}

func (c *cluster) recoverAtEnd(node string) {
	c.Helper()
	c.Cleanup(func() {
		c.agent("recover?node=" + node)
		c.editNode(node, func(n *v1.Node) { n.Spec.Taints = nil })
		c.until(time.Minute, node+" is ready", func() bool {
			n, err := c.CoreV1().Nodes().Get(context.Background(), node, metav1.GetOptions{})
			return err == nil && nodeState(n) == "ready"
		})
	})
}

// outOfService waits until Kubernetes has noticed that a node is lost, and then taints it as an
// administrator does, or a cloud's controller: its pods will not come back.
func (c *cluster) outOfService(node string) {
	c.Helper()
	c.until(time.Minute, "the pods of "+node+" are terminating", func() bool {
		for _, pod := range c.running("night") {
			if pod.Spec.NodeName == node {
				return false
			}
		}
		return true
	})
	c.log.add("TEST taints node %s as out of service", node)
	c.editNode(node, func(n *v1.Node) {
		n.Spec.Taints = append(n.Spec.Taints,
			v1.Taint{Key: v1.TaintNodeOutOfService, Effect: v1.TaintEffectNoExecute})
	})
}

func (c *cluster) editNode(name string, edit func(*v1.Node)) {
	c.Helper()
	c.until(time.Minute, "node "+name+" is changed", func() bool {
		n, err := c.CoreV1().Nodes().Get(context.Background(), name, metav1.GetOptions{})
		if err != nil {
			return false
		}
		edit(n)
		_, err = c.CoreV1().Nodes().Update(context.Background(), n, metav1.UpdateOptions{})
		return err == nil
	})
}

// agent sends a request to the agent's control port.
func (c *cluster) agent(what string) {
	c.Helper()
	response, err := http.Post("http://"+os.Getenv("AGENT")+"/"+what, "", nil)
	if err != nil {
		c.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		c.Fatal(fmt.Errorf("agent: %s: %s", what, response.Status))
	}
}
