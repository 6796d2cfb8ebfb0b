package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// A run is one pod on one node. The agent's mu guards it.
type run struct {
	pod    *v1.Pod
	status v1.PodStatus
	// first has the first process of each container that runs. It is PID 1 of its namespace, so the
	// kernel kills all others with it.
	first     map[int]bool
	stopped   bool       // start nothing more
	silent    bool       // lost with its node, or its object is gone: report nothing more
	done      bool       // the API server has the last report
	reporting sync.Mutex // one report at a time, in order
}

func finished(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

// podChanged starts, stops or removes a pod, as its object demands.
func (a *agent) podChanged(pod *v1.Pod) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n, deleted := a.nodes[pod.Spec.NodeName], pod.DeletionTimestamp != nil
	if n == nil || n.lost {
		return
	}
	r := n.runs[pod.UID]
	switch {
	case r == nil && !finished(pod):
		r = &run{pod: pod, first: map[int]bool{}}
		n.runs[pod.UID] = r
		if pod.Status.Phase == v1.PodPending && pod.Status.StartTime == nil && !deleted {
			go a.start(r)
		} else { // deleted before its start, or started before the loss of the node
			go a.finish(r, v1.PodFailed)
		}
	case deleted && (r == nil || r.done):
		go a.client.CoreV1().Pods(pod.Namespace).Delete(context.Background(), pod.Name,
			metav1.DeleteOptions{
				GracePeriodSeconds: ptr.To[int64](0),
				Preconditions:      &metav1.Preconditions{UID: &pod.UID},
			})
	case deleted && !r.stopped: // as a kubelet: SIGTERM, and SIGKILL when the grace period is over
		r.stopped = true
		r.signal(syscall.SIGTERM)
		time.AfterFunc(time.Duration(*pod.DeletionGracePeriodSeconds)*time.Second, func() {
			a.mu.Lock()
			defer a.mu.Unlock()
			r.signal(syscall.SIGKILL)
		})
	}
}

// podGone ends the processes of a pod that was deleted by force.
func (a *agent) podGone(pod *v1.Pod) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.nodes[pod.Spec.NodeName]
	if n != nil && !n.lost && n.runs[pod.UID] != nil {
		n.runs[pod.UID].kill()
		delete(n.runs, pod.UID)
	}
}

func (r *run) kill() {
	r.stopped, r.silent = true, true
	r.signal(syscall.SIGKILL)
}

// signal signals the first process of each container.
func (r *run) signal(s syscall.Signal) {
	for pid := range r.first {
		_ = syscall.Kill(pid, s) // it may have ended
	}
}

// start runs the init containers one by one, then the containers together.
func (a *agent) start(r *run) {
	waiting := v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "ContainerCreating"}}
	spec := &r.pod.Spec
	r.status = v1.PodStatus{
		Phase: v1.PodPending, StartTime: ptr.To(metav1.Now()),
		HostIP: "127.0.0.1", PodIP: "127.0.0.1",
		InitContainerStatuses: statuses(spec.InitContainers, waiting),
		ContainerStatuses:     statuses(spec.Containers, waiting),
	}
	for i := range spec.InitContainers {
		if !a.runContainer(r, &spec.InitContainers[i], &r.status.InitContainerStatuses[i],
			v1.PodPending) {
			a.finish(r, v1.PodFailed)
			return
		}
	}
	var wg sync.WaitGroup
	var failed atomic.Bool
	for i := range spec.Containers {
		wg.Go(func() {
			if !a.runContainer(r, &spec.Containers[i], &r.status.ContainerStatuses[i], v1.PodRunning) {
				failed.Store(true)
			}
		})
	}
	wg.Wait()
	phase := v1.PodSucceeded
	if failed.Load() {
		phase = v1.PodFailed
	}
	a.finish(r, phase)
}

func statuses(containers []v1.Container, state v1.ContainerState) (list []v1.ContainerStatus) {
	for _, c := range containers {
		list = append(list, v1.ContainerStatus{Name: c.Name, Image: c.Image, State: state})
	}
	return list
}

// runContainer runs a container once and reports whether it exited with 0.
func (a *agent) runContainer(r *run, c *v1.Container, status *v1.ContainerStatus,
	phase v1.PodPhase,
) bool {
	end := &v1.ContainerStateTerminated{
		ExitCode: 128, Reason: "StartError", StartedAt: metav1.Now(),
	}
	cmd, err := a.prepare(r, c)
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.stopped {
		err = errors.New("stopped before the start")
	} else if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		pid := cmd.Process.Pid
		r.first[pid] = true
		r.status.Phase, status.Ready = phase, true
		status.State = v1.ContainerState{
			Running: &v1.ContainerStateRunning{StartedAt: end.StartedAt},
		}
		a.mu.Unlock()
		log.Printf("%s/%s: started on %s", r.pod.Name, c.Name, r.pod.Spec.NodeName)
		a.report(r)
		_ = cmd.Wait() // ProcessState says how it ended
		a.mu.Lock()
		delete(r.first, pid)
		end.Reason, end.ExitCode = "Completed", int32(cmd.ProcessState.ExitCode())
		if how := cmd.ProcessState.Sys().(syscall.WaitStatus); how.Signaled() {
			end.ExitCode = int32(128 + how.Signal())
		}
		if end.ExitCode != 0 {
			end.Reason = "Error"
		}
	} else {
		end.Message = err.Error()
	}
	if cmd != nil {
		_ = cmd.Stdout.(*os.File).Close()
	}
	log.Printf("%s/%s: exit code %d on %s %s", r.pod.Name, c.Name, end.ExitCode,
		r.pod.Spec.NodeName, end.Message)
	end.FinishedAt = metav1.Now()
	status.Ready, status.State = false, v1.ContainerState{Terminated: end}
	return end.ExitCode == 0
}

// prepare returns the process of a container. As with a kubelet, the container waits until the
// objects of its volumes and variables exist.
func (a *agent) prepare(r *run, c *v1.Container) (*exec.Cmd, error) {
	if r.pod.Spec.RestartPolicy != v1.RestartPolicyNever {
		return nil, errors.New("the agent knows only the restartPolicy Never")
	}
	for {
		cmd, err := a.command(r.pod, c)
		a.mu.Lock()
		stopped := r.stopped
		a.mu.Unlock()
		if !apierrors.IsNotFound(err) || stopped {
			return cmd, err
		}
		log.Printf("%s/%s: waits: %v", r.pod.Name, c.Name, err)
		time.Sleep(time.Second)
	}
}

// finish makes the last report, and tries until the API server has it.
func (a *agent) finish(r *run, phase v1.PodPhase) {
	a.mu.Lock()
	r.status.Phase = phase
	if r.status.StartTime == nil && r.pod.Status.StartTime != nil { // started before the node's loss
		r.status.ContainerStatuses = statuses(r.pod.Spec.Containers, v1.ContainerState{
			Terminated: &v1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown"},
		})
	}
	a.mu.Unlock()
	for !a.report(r) {
		time.Sleep(time.Second)
	}
	a.mu.Lock()
	r.done = true // the next change or resync deletes the object, if it is to go
	a.mu.Unlock()
}

// report patches the pod's status and reports whether that is settled. Conditions that others set
// stay.
func (a *agent) report(r *run) bool {
	r.reporting.Lock()
	defer r.reporting.Unlock()
	a.mu.Lock()
	ready := v1.PodCondition{
		Type: v1.PodReady, Status: v1.ConditionFalse, LastTransitionTime: metav1.Now(),
	}
	if r.status.Phase == v1.PodRunning {
		ready.Status = v1.ConditionTrue
	}
	r.status.Conditions = []v1.PodCondition{ready}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": r.pod.UID}, "status": r.status,
	})
	silent := r.silent
	a.mu.Unlock()
	check(err)
	if silent {
		return true
	}
	_, err = a.client.CoreV1().Pods(r.pod.Namespace).Patch(context.Background(), r.pod.Name,
		types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		log.Printf("%s: report: %v", r.pod.Name, err)
	}
	return err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err)
}
