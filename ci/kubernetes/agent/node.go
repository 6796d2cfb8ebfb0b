package main

import (
	"context"
	"encoding/json"
	"log"
	"runtime"
	"sort"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	podresource "k8s.io/component-helpers/resource"
	corehelpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

type node struct {
	name string
	lost bool
	runs map[types.UID]*run // the pods it has had, until their objects are gone
}

// heartbeat registers the node and reports each second that it is ready, unless it is lost.
func (a *agent) heartbeat(ctx context.Context, n *node) {
	nodes := a.client.CoreV1().Nodes()
	for ; ctx.Err() == nil; time.Sleep(time.Second) {
		a.mu.Lock()
		lost := n.lost
		a.mu.Unlock()
		if lost {
			continue
		}
		status := a.nodeStatus()
		patch, err := json.Marshal(map[string]any{"status": status})
		check(err)
		_, err = nodes.Patch(ctx, n.name, types.StrategicMergePatchType, patch, metav1.PatchOptions{},
			"status")
		if apierrors.IsNotFound(err) {
			labels := map[string]string{
				v1.LabelHostname: n.name, v1.LabelOSStable: runtime.GOOS, v1.LabelArchStable: runtime.GOARCH,
			}
			_, err = nodes.Create(ctx, &v1.Node{
				Status: status, ObjectMeta: metav1.ObjectMeta{Name: n.name, Labels: labels},
			}, metav1.CreateOptions{})
		}
		if err != nil && ctx.Err() == nil {
			log.Printf("%s: heartbeat: %v", n.name, err)
		}
	}
}

// nodeStatus returns the status of a node that is ready.
func (a *agent) nodeStatus() v1.NodeStatus {
	return v1.NodeStatus{
		Capacity: a.capacity, Allocatable: a.capacity,
		NodeInfo: v1.NodeSystemInfo{
			OperatingSystem: runtime.GOOS, Architecture: runtime.GOARCH, KubeletVersion: "agent",
		},
		Addresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "127.0.0.1"}},
		DaemonEndpoints: v1.NodeDaemonEndpoints{
			KubeletEndpoint: v1.DaemonEndpoint{Port: a.logPort},
		},
		Conditions: []v1.NodeCondition{{
			Type: v1.NodeReady, Status: v1.ConditionTrue, Reason: "Agent",
			LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
		}},
	}
}

// setLost takes a node away, or starts it again. The processes of a lost node are killed, and the
// agent reports nothing more for it. The node lifecycle controller then taints the node, and the
// taint deletes its pods. As with a real node, they stay Terminating until one of two things
// happens. The pod garbage collector may take them, because an administrator set the out-of-service
// taint or deleted the Node. Or the node is back, and reports its pods as failed.
func (a *agent) setLost(n *node, lost bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	log.Printf("%s: lost: %t", n.name, lost)
	n.lost = lost
	for uid, r := range n.runs {
		r.kill()
		delete(n.runs, uid)
	}
}

// cut cuts a node off the network. The API server learns nothing of it any more, and it learns
// nothing of its pods, so they go on. If the node is back, it kills them.
func (a *agent) cut(n *node) {
	a.mu.Lock()
	defer a.mu.Unlock()
	log.Printf("%s: cut off", n.name)
	n.lost = true
	for _, r := range n.runs {
		r.silent = true
	}
}

// schedule binds each pending pod to a node that is selected, has room, and has no taint that the
// pod does not tolerate. Of several it takes the one with the fewest pods. It knows no affinity
// between pods, no spreading, no priority and no preemption.
func (a *agent) schedule(ctx context.Context) {
	pods, err := a.podList.List(labels.Everything())
	check(err)
	sort.Slice(pods, func(i, j int) bool {
		return pods[i].CreationTimestamp.Before(&pods[j].CreationTimestamp)
	})
	used, bound := map[string]v1.ResourceList{}, map[types.UID]string{}
	for name := range a.nodes {
		used[name] = v1.ResourceList{}
	}
	for _, pod := range pods {
		name := pod.Spec.NodeName
		if name == "" && a.bound[pod.UID] != "" {
			name = a.bound[pod.UID]
			bound[pod.UID] = name
		}
		if used[name] != nil && !finished(pod) {
			add(used[name], requests(pod))
		}
	}
	a.bound = bound
	for _, pod := range pods {
		if pod.Spec.NodeName != "" || bound[pod.UID] != "" || pod.DeletionTimestamp != nil ||
			finished(pod) || len(pod.Spec.SchedulingGates) > 0 {
			continue
		}
		best, fewest := "", int64(0)
		for name, u := range used {
			n, err := a.nodeList.Get(name)
			if err == nil && fits(pod, n, u) && (best == "" || u.Pods().Value() < fewest) {
				best, fewest = name, u.Pods().Value()
			}
		}
		if best == "" {
			continue
		}
		err := a.client.CoreV1().Pods(pod.Namespace).Bind(ctx, &v1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
			Target:     v1.ObjectReference{Kind: "Node", Name: best},
		}, metav1.CreateOptions{})
		if err != nil {
			log.Printf("%s: bind: %v", pod.Name, err)
			continue
		}
		bound[pod.UID] = best
		add(used[best], requests(pod))
	}
}

// requests returns what a pod takes of its node.
func requests(pod *v1.Pod) v1.ResourceList {
	list := podresource.PodRequests(pod, podresource.PodResourcesOptions{})
	list[v1.ResourcePods] = resource.MustParse("1")
	return list
}

func add(to, more v1.ResourceList) {
	for k, q := range more {
		q.Add(to[k])
		to[k] = q
	}
}

// fits reports whether a node can take a pod. The parameter used holds what its other pods request.
func fits(pod *v1.Pod, n *v1.Node, used v1.ResourceList) bool {
	_, tainted := corehelpers.FindMatchingUntoleratedTaint(n.Spec.Taints, pod.Spec.Tolerations,
		func(t *v1.Taint) bool { return t.Effect != v1.TaintEffectPreferNoSchedule })
	selected, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(n)
	for k, q := range requests(pod) {
		q.Add(used[k])
		if free := n.Status.Allocatable[k]; q.Cmp(free) > 0 {
			return false
		}
	}
	return !tainted && !n.Spec.Unschedulable && selected && err == nil
}
