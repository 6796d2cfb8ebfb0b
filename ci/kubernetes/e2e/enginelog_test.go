package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	batch "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
)

// An engineLog has what happens to the pods, Jobs and nodes, a line for each change, and what the
// test does to them.
type engineLog struct {
	mu    sync.Mutex
	start time.Time
	lines []string
	last  map[string]string // the last state of each object
}

func (l *engineLog) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf("%7.2f s  ", time.Since(l.start).Seconds())+
		fmt.Sprintf(format, args...))
}

// state adds the state of an object, if it has changed.
func (l *engineLog) state(name, state string) {
	l.mu.Lock()
	old := l.last[name]
	l.last[name] = state
	l.mu.Unlock()
	if state != old && state != "" {
		l.add("%s: %s", name, state)
	}
}

func (l *engineLog) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return "the engine's log:\n" + strings.Join(l.lines, "\n")
}

// follow fills the log until the test ends. It prints the log if the test has failed, or always.
func (c *cluster) follow(always bool) {
	c.Helper()
	l := &engineLog{start: time.Now(), last: map[string]string{}}
	c.log = l
	ctx, stop := context.WithCancel(context.Background())
	c.Cleanup(func() {
		stop()
		if always || c.Failed() {
			c.T.Log(l.text())
		}
	})
	all := metav1.ListOptions{}
	for _, begin := range []func() (watch.Interface, error){
		func() (watch.Interface, error) { return c.CoreV1().Pods(c.namespace).Watch(ctx, all) },
		func() (watch.Interface, error) { return c.BatchV1().Jobs(c.namespace).Watch(ctx, all) },
		func() (watch.Interface, error) { return c.CoreV1().Nodes().Watch(ctx, all) },
	} {
		events, err := begin()
		if err != nil {
			c.Fatal(err)
		}
		go func() {
			for event := range events.ResultChan() {
				switch o := event.Object.(type) {
				case *v1.Pod:
					l.state("pod "+o.Name, podState(o, event.Type == watch.Deleted))
				case *batch.Job:
					l.state("job "+o.Name, jobState(o))
				case *v1.Node:
					l.state("node "+o.Name, nodeState(o))
				}
			}
		}()
	}
}

// podState describes a pod: "Running on node-a", "Failed on node-a, exit code 137".
func podState(p *v1.Pod, gone bool) string {
	state := string(p.Status.Phase)
	if p.Spec.NodeName != "" {
		state += " on " + p.Spec.NodeName
	}
	for _, s := range p.Status.ContainerStatuses {
		if end := s.State.Terminated; end != nil {
			state += fmt.Sprintf(", exit code %d", end.ExitCode)
		}
	}
	for _, k := range p.Status.Conditions {
		if k.Type == v1.DisruptionTarget && k.Status == v1.ConditionTrue {
			state += ", DisruptionTarget " + k.Reason
		}
	}
	if p.DeletionTimestamp != nil {
		state += ", terminating"
	}
	if gone {
		state += ", gone"
	}
	return state
}

// jobState describes a Job: "4 active, completed 0-2, failed none".
func jobState(j *batch.Job) string {
	state := fmt.Sprintf("%d active, %d succeeded, %d failed", j.Status.Active, j.Status.Succeeded,
		j.Status.Failed)
	if j.Status.CompletedIndexes != "" {
		state += ", completed indexes " + j.Status.CompletedIndexes
	}
	if indexes := ptr.Deref(j.Status.FailedIndexes, ""); indexes != "" {
		state += ", failed indexes " + indexes
	}
	if ptr.Deref(j.Spec.Suspend, false) {
		state += ", suspended"
	}
	for _, k := range j.Status.Conditions {
		if k.Status == v1.ConditionTrue {
			state += fmt.Sprintf(", %s %s", k.Type, strings.TrimSpace(k.Reason+" "+k.Message))
		}
	}
	return state
}

func nodeState(n *v1.Node) string {
	state := "not ready"
	for _, k := range n.Status.Conditions {
		if k.Type == v1.NodeReady && k.Status == v1.ConditionTrue {
			state = "ready"
		}
	}
	for _, taint := range n.Spec.Taints {
		state += fmt.Sprintf(", taint %s:%s", taint.Key, taint.Effect)
	}
	return state
}
