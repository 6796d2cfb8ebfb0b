package serve

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"vramsoak/reports/sink"
)

// maxScrapes is how many scrapes are answered at the same time. Further ones get an error.
const maxScrapes = 4

// Handler returns the handler of all paths: /metrics for Prometheus, /healthz, and the page of the
// run at /.
func Handler(c *Collector, page http.Handler) http.Handler {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c) // panics only if two metrics have the same name
	mux := http.NewServeMux()
	// A pattern with GET is for HEAD too. Other methods get the answer 405.
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: maxScrapes, EnableOpenMetrics: true,
	}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		say(w, http.StatusOK, "ok\n")
	})
	mux.Handle("GET /{$}", page)
	const paths = "  /         the report on the run so far\n" +
		"  /metrics  for Prometheus\n  /healthz  says ok while the soak runs\n"
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		say(w, http.StatusNotFound, "vramsoak has no "+sink.Line(r.URL.Path)+" here. It has:\n"+paths)
	})
	return mux
}

// say answers with a text. It ignores errors: the client has gone.
func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}
