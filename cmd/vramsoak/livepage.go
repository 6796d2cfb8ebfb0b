package main

import (
	"bytes"
	"net/http"
	"sync"
	"time"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/reports/html"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// A livePage serves the report on a run that goes on. It judges the log when somebody asks for the
// page, and gives the same page again for a while, so that readers do not slow the run.
type livePage struct {
	mu    sync.Mutex // held while the log is judged: other readers wait for that page
	logs  []string
	page  []byte
	made  time.Time
	stays time.Duration // how long the page is given again
}

const (
	// pageStays is the least time for which a page is given again.
	pageStays = 5 * time.Second
	// pageShare limits the work for pages to a twentieth of one core: a page that took t to make is
	// given again for pageShare*t.
	pageShare = 20
)

// follow sets the logs of the run.
func (p *livePage) follow(logs []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.logs = logs
}

// ServeHTTP implements [http.Handler].
func (p *livePage) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	page, err := p.current()
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	if err != nil {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = sink.Fprintf(w, "there is no report yet: %s; reload the page later\n",
			sink.Error(err)) // the client may have gone
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page) // the client may have gone
}

// current returns the page, which may be some seconds old.
func (p *livePage) current() ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.page != nil && time.Since(p.made) < p.stays {
		return p.page, nil
	}
	began := time.Now()
	of := readOptions{trends: true, page: html.NewCollector()}
	tl, report, err := of.judge(p.logs, nil)
	if err != nil {
		return nil, err
	}
	forgiveUnfinished(report, tl)
	content, err := pageOf(tl, report, of.page, p.logs, of)
	if err != nil {
		return nil, err
	}
	var page bytes.Buffer
	if err := html.Write(&page, content); err != nil {
		return nil, err
	}
	p.page, p.made = page.Bytes(), time.Now()
	p.stays = max(pageStays, pageShare*p.made.Sub(began))
	return p.page, nil
}

// forgiveUnfinished changes the report on a run that goes on. The file in work has no end yet, and
// later files have not started. That is no failure, so the finding on files is skipped, unless
// a file has failed already.
func forgiveUnfinished(report *check.Report, tl *timeline.Timeline) {
	done, failed := 0, false
	for _, f := range tl.LastAttempts() {
		switch f.Status {
		case record.StatusUnknown:
		case record.StatusOK:
			done++
		default:
			done, failed = done+1, true
		}
	}
	if !failed {
		report.Revise(func(f *check.Finding) {
			if f.Check == check.Completeness && f.Verdict != check.Pass {
				f.Verdict, f.Message = check.Skipped, "the run goes on"
				f.File, f.FirstFile, f.At, f.Measured, f.Limit = 0, nil, nil, nil, nil
			}
		})
	}
	report.Notes = append(report.Notes, "the run goes on: this is the report on its first "+
		wording.Plural(done, "file"))
}
