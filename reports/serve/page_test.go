package serve

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// TestPage: a page is given again for five seconds, or for 20 times as long as it took to make. So
// is the error of a page that cannot be made.
func TestPage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		takes  time.Duration
		fails  bool
		status int
		body   string // of page %d
		lasts  time.Duration
	}{
		{"quick", 10 * time.Millisecond, false, http.StatusOK, "page %d", 5 * time.Second},
		{"slow", 2 * time.Second, false, http.StatusOK, "page %d", 40 * time.Second},
		{
			"error", 2 * time.Second, true, http.StatusServiceUnavailable,
			"there is no report yet: error %d\n", 40 * time.Second,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				made := 0
				p := NewPage(func() ([]byte, error) {
					time.Sleep(c.takes)
					made++
					if c.fails {
						return nil, fmt.Errorf("error %d", made)
					}
					return fmt.Appendf(nil, "page %d", made), nil
				})
				gives := func(number int) {
					t.Helper()
					w := httptest.NewRecorder()
					p.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
					if want := fmt.Sprintf(c.body, number); w.Code != c.status ||
						w.Body.String() != want {
						t.Errorf("got %d %q, want %d %q", w.Code, w.Body, c.status, want)
					}
				}
				gives(1)
				time.Sleep(c.lasts - time.Millisecond)
				gives(1)
				time.Sleep(time.Millisecond)
				gives(2)
			})
		})
	}
}

// TestPageAfterError: an error does not stay when a page can be made again.
func TestPageAfterError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		err := errors.New("the log is empty")
		p := NewPage(func() ([]byte, error) { return []byte("page"), err })
		status := func() int {
			w := httptest.NewRecorder()
			p.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
			return w.Code
		}
		if got := status(); got != http.StatusServiceUnavailable {
			t.Errorf("status %d", got)
		}
		err = nil
		time.Sleep(pageLasts)
		if got := status(); got != http.StatusOK {
			t.Errorf("status %d after the error has gone", got)
		}
	})
}

// TestLongJudged: a page that takes longer to make than a client may take for an answer arrives.
func TestLongJudged(t *testing.T) {
	t.Parallel()
	limits := defaultTimeouts
	limits.write = 50 * time.Millisecond
	s := start(t, limits, NewPage(func() ([]byte, error) {
		time.Sleep(4 * limits.write)
		return []byte("page"), nil
	}))
	if !dial(t, s).asks("/") {
		t.Error("no page")
	}
}
