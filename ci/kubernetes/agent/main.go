// Agent stands in for the scheduler and for every kubelet of a test cluster. It registers nodes,
// binds pending pods to them, and runs each container as a process in namespaces of its own: the
// process is PID 1, sees the machine's folders, and has the pod's volumes mounted.
//
// Its control port takes these requests:
//
//	POST /lose?node=NAME     takes a node away as a power cut does
//	POST /cut?node=NAME      cuts a node off the network: its containers go on
//	POST /recover?node=NAME  starts a node again, or connects it
//	POST /kill?pod=NAME      kills the containers of a pod, as the kernel does when the pod's memory
//	                         is used up
package main

import (
	"context"
	"flag"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

type agent struct {
	client   kubernetes.Interface
	server   *url.URL // the API server, which containers find in their environment
	podList  corelisters.PodLister
	nodeList corelisters.NodeLister
	dir      string               // has a folder for each pod, and one for each claim
	capacity v1.ResourceList      // of each node
	logPort  int32                // the API server asks this port for the logs of containers
	bound    map[types.UID]string // bound pods that podList does not show yet
	mu       sync.Mutex           // guards the nodes and their runs
	nodes    map[string]*node
}

func main() {
	if len(os.Args) == 3 && os.Args[0] == enterName {
		log.Fatal(enter(os.Args[1], os.Args[2]))
	}
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig `FILE`")
	names := flag.String("nodes", "node-a,node-b", "nodes to register, `A,B,...`")
	capacity := flag.String("capacity", "cpu=8,memory=16Gi,pods=32",
		"capacity of each node, `NAME=QUANTITY,...`")
	listen := flag.String("listen", "127.0.0.1:18090", "control `ADDRESS`")
	dir := flag.String("dir", "agent", "`FOLDER` for logs, volumes and claims")
	flag.Parse()

	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	check(err)
	config.QPS, config.Burst = 200, 400
	a := &agent{
		client:   kubernetes.NewForConfigOrDie(config),
		capacity: v1.ResourceList{},
		bound:    map[types.UID]string{},
		nodes:    map[string]*node{},
	}
	a.server, err = url.Parse(config.Host)
	check(err)
	a.dir, err = filepath.Abs(*dir)
	check(err)
	for _, pair := range strings.Split(*capacity, ",") {
		k, v, _ := strings.Cut(pair, "=")
		a.capacity[v1.ResourceName(k)] = resource.MustParse(v)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	// The certificate of httptest does: the API server does not check the one of a kubelet.
	logs := httptest.NewTLSServer(http.HandlerFunc(a.serveLog))
	defer logs.Close()
	a.logPort = int32(portOf(logs.URL))
	for _, name := range strings.Split(*names, ",") {
		a.nodes[name] = &node{name: name, runs: map[types.UID]*run{}}
		go a.heartbeat(ctx, a.nodes[name])
	}
	a.watch(ctx)
	go func() { check(http.ListenAndServe(*listen, a.control())) }()
	log.Printf("ready: %s, control on %s", *names, *listen)
	for tick := time.Tick(100 * time.Millisecond); ctx.Err() == nil; <-tick {
		a.schedule(ctx)
	}
	for _, n := range a.nodes {
		a.setLost(n, true)
	}
}

// watch keeps the lists of pods and nodes up to date, and calls podChanged and podGone.
func (a *agent) watch(ctx context.Context) {
	// Each resync tries again what failed.
	factory := informers.NewSharedInformerFactory(a.client, 2*time.Second)
	pods, nodes := factory.Core().V1().Pods(), factory.Core().V1().Nodes()
	a.podList, a.nodeList = pods.Lister(), nodes.Lister()
	_, err := pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { a.podChanged(o.(*v1.Pod)) },
		UpdateFunc: func(_, o any) { a.podChanged(o.(*v1.Pod)) },
		DeleteFunc: func(o any) {
			if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = last.Obj
			}
			a.podGone(o.(*v1.Pod))
		},
	})
	check(err)
	nodes.Informer() // for its lister
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
}

// control returns the handler of the control port.
func (a *agent) control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{what}", func(w http.ResponseWriter, r *http.Request) {
		n, ok := a.nodes[r.FormValue("node")]
		switch r.PathValue("what") {
		case "lose", "recover":
			if ok {
				a.setLost(n, r.PathValue("what") == "lose")
			}
		case "cut":
			if ok {
				a.cut(n)
			}
		case "kill":
			ok = a.kill(r.FormValue("pod"))
		default:
			ok = false
		}
		if !ok {
			http.Error(w, "expected /lose?node=NAME, /cut?node=NAME, /recover?node=NAME or "+
				"/kill?pod=NAME, of a node or pod that is there", http.StatusNotFound)
		}
	})
	return mux
}

// kill kills the containers of a pod, and reports whether one was running.
func (a *agent) kill(pod string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, n := range a.nodes {
		for _, r := range n.runs {
			if r.pod.Name == pod && len(r.first) > 0 {
				r.signal(syscall.SIGKILL)
				return true
			}
		}
	}
	return false
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
