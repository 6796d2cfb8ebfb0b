package main

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// serveLog answers as a kubelet does when kubectl logs asks it, by way of the API server:
// /containerLogs/NAMESPACE/POD/CONTAINER?follow=true.
func (a *agent) serveLog(w http.ResponseWriter, r *http.Request) {
	path, ok := strings.CutPrefix(filepath.Clean(r.URL.Path), "/containerLogs/")
	parts := strings.Split(path, "/")
	if !ok || len(parts) != 3 {
		http.NotFound(w, r)
		return
	}
	log, err := os.Open(filepath.Join(a.dir, "pods", path+".log"))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer log.Close()
	follow := r.FormValue("follow") == "true"
	for {
		pod, err := a.podList.Pods(parts[0]).Get(parts[1])
		over := err != nil || ended(pod, parts[2])
		if _, err := io.Copy(w, log); err != nil || over || !follow {
			return
		}
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// ended reports whether a container of the pod has ended.
func ended(pod *v1.Pod, name string) bool {
	for _, c := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
		if c.Name == name {
			return c.State.Terminated != nil
		}
	}
	return finished(pod)
}

// portOf returns the port of an address such as https://127.0.0.1:1234.
func portOf(address string) int {
	u, err := url.Parse(address)
	check(err)
	port, err := strconv.Atoi(u.Port())
	check(err)
	return port
}
