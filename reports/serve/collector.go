package serve

import (
	"runtime"
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"vramsoak/harness"
	"vramsoak/parser/record"
	"vramsoak/reports/metrics"
)

// A Collector knows the state of a soak, and gives it to Prometheus. It learns the state from the
// progress of the harness and from the run's logs. Its methods may be called at any time.
type Collector struct {
	version string
	descs   map[*metrics.Metric]*prometheus.Desc

	mu       sync.Mutex
	progress harness.Progress
	ended    bool
	memory   map[memoryKey]int64
	high     map[memoryKey]int64
	fileEnd  map[memoryKey]int64
	sizes    map[record.Lane]int64
	machine  map[machineKey]record.Resources
	files    map[record.Status]int
	seconds  float64 // of the last file
	ooms     int
	restarts int
}

// A memoryKey says what a value of memory is about.
type memoryKey struct {
	source, ledger string
	lane           record.Lane
}

// A machineKey says what a reading of the machine is about: the processes of one worker.
type machineKey struct {
	*feed
	source string
}

// maxLanes is the most lanes whose levels are kept: a log may name any number of ranks.
const maxLanes = 4096

// liveMetrics are the metrics that a collector has.
var liveMetrics = func() (all []*metrics.Metric) {
	for _, m := range metrics.All {
		if m != &metrics.LogInfo {
			all = append(all, m)
		}
	}
	return all
}()

// NewCollector returns the collector of a run that has not begun.
func NewCollector(version string) *Collector {
	c := &Collector{
		version: version, descs: map[*metrics.Metric]*prometheus.Desc{},
		memory: map[memoryKey]int64{}, high: map[memoryKey]int64{}, fileEnd: map[memoryKey]int64{},
		sizes: map[record.Lane]int64{}, machine: map[machineKey]record.Resources{},
		files: map[record.Status]int{},
	}
	for _, m := range liveMetrics {
		c.descs[m] = prometheus.NewDesc(m.Name, m.Help, m.Labels, nil)
	}
	return c
}

// Progress notes the progress of the run.
func (c *Collector) Progress(p harness.Progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.progress = p
}

// End notes that the run is over.
func (c *Collector) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
}

// Describe implements [prometheus.Collector].
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	for _, m := range liveMetrics {
		out <- c.descs[m]
	}
}

// Collect implements [prometheus.Collector]. It does not make the run wait while a client reads:
// Prometheus's library gathers all values before it answers.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	put := func(m *metrics.Metric, value float64, labels ...string) {
		kind := prometheus.GaugeValue
		if m.Kind == metrics.Counter {
			kind = prometheus.CounterValue
		}
		out <- prometheus.MustNewConstMetric(c.descs[m], kind, value, labels...)
	}
	for at, bytes := range c.memory {
		device, rank := laneLabels(at.lane)
		put(&metrics.Memory, float64(bytes), at.source, at.ledger, device, rank)
	}
	for at, bytes := range c.high {
		device, rank := laneLabels(at.lane)
		put(&metrics.HighWater, float64(bytes), at.source, at.ledger, device, rank)
	}
	for at, bytes := range c.fileEnd {
		device, rank := laneLabels(at.lane)
		put(&metrics.FileEnd, float64(bytes), at.ledger, device, rank)
	}
	for lane, bytes := range c.sizes {
		device, rank := laneLabels(lane)
		put(&metrics.DeviceSize, float64(bytes), device, rank)
	}
	for source, held := range c.held() {
		for kind, amount := range held.All() {
			put(metrics.Resources[kind], float64(amount), source)
		}
	}
	for status, n := range c.files {
		put(&metrics.FilesDone, float64(n), string(status))
	}
	if c.seconds > 0 {
		put(&metrics.FileSeconds, c.seconds)
	}
	put(&metrics.OutOfMemory, float64(c.ooms))
	put(&metrics.Restarts, float64(c.restarts))
	c.collectProgress(put)
	put(&metrics.BuildInfo, 1, c.version, runtime.Version())
}

// held returns what the processes of all workers hold of the machine, by source.
func (c *Collector) held() map[string]record.Resources {
	all := map[string]record.Resources{}
	for of, held := range c.machine {
		sum := all[of.source]
		for kind, amount := range held.All() {
			before, _ := sum.Get(kind)
			sum.Set(kind, before+amount)
		}
		all[of.source] = sum
	}
	return all
}

func (c *Collector) collectProgress(put func(*metrics.Metric, float64, ...string)) {
	p := &c.progress
	if p.Files > 0 {
		put(&metrics.BatchFiles, float64(p.Files))
	}
	put(&metrics.Done, float64(p.Done))
	put(&metrics.Failed, float64(p.Failed))
	put(&metrics.Elapsed, p.Elapsed.Seconds())
	if p.HasLeft {
		put(&metrics.Left, p.Left.Seconds())
	}
	now := c.state()
	for _, state := range metrics.States {
		value := 0.0
		if state == now {
			value = 1
		}
		put(&metrics.State, value, state)
	}
}

// state returns what the run does.
func (c *Collector) state() string {
	working := c.progress.Current != ""
	for _, w := range c.progress.Workers {
		working = working || w.Current != ""
	}
	switch {
	case c.ended:
		return metrics.Ended
	case working:
		return metrics.Working
	case c.progress.Done == 0:
		return metrics.Starting
	}
	return metrics.Between
}

func laneLabels(l record.Lane) (device, rank string) {
	return strconv.Itoa(l.Device), strconv.Itoa(l.Rank)
}
