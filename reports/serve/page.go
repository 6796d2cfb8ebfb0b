package serve

import (
	"net/http"
	"sync"
	"time"

	"vramsoak/reports/sink"
)

// A Page is the page of a run that goes on. It is made when somebody asks for it, and given again
// for a while, so that readers do not slow the run. The same holds for the error of a page that
// could not be made.
type Page struct {
	build func() ([]byte, error)

	mu      sync.Mutex // held while the page is made: other readers wait for it
	html    []byte
	err     error     // why there is no html
	renewed time.Time // when the page was made; zero before the first time
	lasts   time.Duration
}

const (
	// pageLasts is the least time for which a page is given again.
	pageLasts = 5 * time.Second
	// pageShare limits the work for pages to a twentieth of one core: a page that took t to make is
	// given again for pageShare*t.
	pageShare = 20
)

// NewPage returns the page whose HTML the function build returns.
func NewPage(build func() ([]byte, error)) *Page { return &Page{build: build} }

// ServeHTTP implements [http.Handler].
func (p *Page) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	html, err := p.newest()
	// The time to make the page is not the client's. A recorder in a test has no deadline.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(defaultTimeouts.write))
	w.Header().Set("Cache-Control", "no-store")
	if err != nil {
		w.Header().Set("Refresh", "5") // a browser tries again after pageLasts
		say(w, http.StatusServiceUnavailable,
			"there is no report yet: "+string(sink.Error(err))+"\n")
		return
	}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(html) // the client may have gone
}

// newest returns the page, or the error of making it. Both may be some seconds old.
func (p *Page) newest() ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.renewed.IsZero() && time.Since(p.renewed) < p.lasts {
		return p.html, p.err
	}
	began := time.Now()
	p.html, p.err = p.build()
	p.renewed = time.Now()
	p.lasts = max(pageLasts, pageShare*p.renewed.Sub(began))
	return p.html, p.err
}
