package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestComplete(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"9435": "127.0.0.1:9435", ":9435": "127.0.0.1:9435", ":0": "127.0.0.1:0",
		"127.0.0.1:9435": "127.0.0.1:9435", "localhost:9435": "localhost:9435",
		"0.0.0.0:9435": "0.0.0.0:9435", "[::1]:9435": "[::1]:9435",
	} {
		if got, err := complete(address); got != want || err != nil {
			t.Errorf("%s: got %s, %v, want %s", address, got, err, want)
		}
	}
	for _, address := range []string{
		"", ":", "99999", "-1", "127.0.0.1", "http", ":http", "+80", "080", "::1", "http://localhost:80",
	} {
		if got, err := complete(address); err == nil {
			t.Errorf("%q: got %s, want an error", address, got)
		}
	}
}

// TestBusyPort: a port that another program uses is an error that says what to do.
func TestBusyPort(t *testing.T) {
	t.Parallel()
	s, err := Listen("0")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	address := s.listener.Addr().String()
	_, err = Listen(address)
	want := "another program uses the address " + address + "; end it, or choose another port, " +
		"such as 0 for any free one"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// thePage is a page for tests.
var thePage = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	say(w, 200, "the page")
})

// TestPaths: what each path answers. There is nothing to write to.
func TestPaths(t *testing.T) {
	t.Parallel()
	const list = "  /         the report on the run so far\n" +
		"  /metrics  for Prometheus\n  /healthz  says ok while the soak runs\n"
	for _, c := range []struct {
		method, path string
		status       int
		body         string
	}{
		{"GET", "/healthz", 200, "ok\n"},
		{"HEAD", "/healthz", 200, "ok\n"}, // a server leaves the body out
		{"POST", "/healthz", 405, "Method Not Allowed\n"},
		{"PUT", "/metrics", 405, "Method Not Allowed\n"},
		{"DELETE", "/", 405, "Method Not Allowed\n"},
		{"GET", "/x%1b%0a", 404, "vramsoak has no /x\\x1b\\n here. It has:\n" + list},
		{"GET", "/", 200, "the page"},
		{"POST", "/", 405, "Method Not Allowed\n"},
	} {
		w := httptest.NewRecorder()
		Handler(NewCollector("1"), thePage).ServeHTTP(w, httptest.NewRequest(c.method, c.path, nil))
		if w.Code != c.status || w.Body.String() != c.body {
			t.Errorf("%s %s: got %d %q, want %d %q", c.method, c.path, w.Code, w.Body, c.status, c.body)
		}
	}
}

// A client is a connection to a server.
type client struct {
	net.Conn
	t *testing.T
}

func dial(t *testing.T, s *Server) client {
	t.Helper()
	conn, err := net.Dial("tcp", s.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return client{conn, t}
}

// asks sends a request, and reports whether the server answers it.
func (c client) asks(path string) bool {
	_, _ = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", path)
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return err == nil && answer.StatusCode == http.StatusOK
}

// isClosed reports whether the server closes the connection within a time.
func (c client) isClosed(within time.Duration) bool {
	_ = c.SetReadDeadline(time.Now().Add(within))
	defer func() { _ = c.SetReadDeadline(time.Time{}) }()
	_, err := io.Copy(io.Discard, c)
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

// TestTooManyConnections: a server with maxConns connections closes the one that has been idle for
// longest for a new one. The connections on which it answers stay.
func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	asked, goOn := make(chan struct{}, 1), make(chan struct{})
	page := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-goOn
	})
	s := start(t, defaultTimeouts, page)
	busy := dial(t, s) // the oldest
	answered := make(chan bool)
	go func() { answered <- busy.asks("/") }()
	<-asked
	var idle []client
	for range maxConns - 1 {
		idle = append(idle, dial(t, s))
		if !idle[len(idle)-1].asks("/healthz") {
			t.Fatalf("connection %d has no answer", len(idle))
		}
	}
	if !idle[0].asks("/healthz") { // idle[1] is now idle for longest
		t.Fatal("an idle connection has no answer")
	}
	if !dial(t, s).asks("/healthz") {
		t.Error("a new connection has no answer")
	}
	if !idle[1].isClosed(time.Minute) {
		t.Error("the connection that is idle for longest is still open")
	}
	for _, i := range []int{0, 2, maxConns - 2} {
		if !idle[i].asks("/healthz") {
			t.Errorf("idle connection %d was closed", i)
		}
	}
	close(goOn)
	if !<-answered {
		t.Error("the connection with the slow answer was closed")
	}
}

// TestSlowAnswers: a server that answers requests on maxConns connections closes the one whose
// answer takes longest for a new one.
func TestSlowAnswers(t *testing.T) {
	t.Parallel()
	asked, goOn := make(chan struct{}, 1), make(chan struct{})
	s := start(t, defaultTimeouts, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-goOn
	}))
	var busy []client
	answered := make(chan bool, maxConns)
	for range maxConns {
		c := dial(t, s)
		busy = append(busy, c)
		go func() { answered <- c.asks("/") }()
		<-asked
	}
	if !dial(t, s).asks("/healthz") {
		t.Error("a new connection has no answer")
	}
	if <-answered || !busy[0].isClosed(time.Minute) {
		t.Error("the answer that takes longest goes on")
	}
	close(goOn)
	for range maxConns - 1 {
		if !<-answered {
			t.Error("another answer was not finished")
		}
	}
}

// TestSlowClients: the server closes the connection of a client that does not send the whole head
// of its request, or that does not read the answer.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	const short = 100 * time.Millisecond
	written := make(chan error, 1)
	s := start(t, timeouts{header: short, read: time.Minute, write: short, idle: time.Minute},
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, err := w.Write(make([]byte, 64<<20)) // more than the buffers of the system
			written <- err
		}))
	half := dial(t, s)
	_, _ = fmt.Fprint(half, "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n")
	deaf := dial(t, s)
	_, _ = fmt.Fprint(deaf, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
	if err := <-written; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the answer to a client that does not read: %v", err)
	}
	if !half.isClosed(time.Minute) || !deaf.isClosed(time.Minute) {
		t.Error("a connection is still open")
	}
}

// start starts a server, which the test closes at its end.
func start(t *testing.T, limits timeouts, page http.Handler) *Server {
	t.Helper()
	s, err := Listen("0")
	if err != nil {
		t.Fatal(err)
	}
	s.timeouts = limits
	s.Start(Handler(NewCollector("1"), page))
	t.Cleanup(s.Close)
	return s
}

// TestClose: when the server is closed, all its goroutines end, also those of clients that send no
// request or do not read.
func TestClose(t *testing.T) { // not parallel: it looks at all goroutines
	s := start(t, defaultTimeouts, thePage)
	for range 3 {
		if !dial(t, s).asks("/healthz") {
			t.Fatal("no answer")
		}
	}
	dial(t, s)
	_, _ = fmt.Fprint(dial(t, s), "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n")
	s.Close()
	for {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		if !strings.Contains(string(stacks), "net/http.(*conn)") &&
			!strings.Contains(string(stacks), "net/http.(*Server)") {
			break
		}
		if t.Context().Err() != nil {
			t.Fatalf("goroutines go on:\n%s", stacks)
		}
		time.Sleep(time.Millisecond)
	}
}

// TestURL: a server on all addresses says one that can be opened.
func TestURL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		address string
		public  bool
	}{{"0", false}, {"localhost:0", false}, {"0.0.0.0:0", true}, {"[::]:0", true}} {
		s, err := Listen(c.address)
		if err != nil {
			t.Errorf("%s: %v", c.address, err)
			continue
		}
		s.Start(Handler(NewCollector("1"), thePage))
		at := s.URL("/healthz")
		u, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		if ip := net.ParseIP(u.Hostname()); ip == nil || ip.IsUnspecified() || u.Port() == "0" {
			t.Errorf("%s: %s cannot be opened", c.address, at)
		}
		answer, err := http.Get(at)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Errorf("%s: GET %s: %v, %v", c.address, at, answer, err)
		} else {
			_ = answer.Body.Close()
		}
		if s.IsPublic() != c.public {
			t.Errorf("%s: public %t", c.address, s.IsPublic())
		}
		s.Close()
	}
}

// TestNoSuchAddress: an address that this machine does not have is an error that says what to do.
// 192.0.2.1 is reserved for documentation.
func TestNoSuchAddress(t *testing.T) {
	t.Parallel()
	_, err := Listen("192.0.2.1:9435")
	want := "this machine does not have the address of 192.0.2.1:9435; give an address of this " +
		"machine, or a port alone"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestClosedBeforeStart: a server that has not begun to answer frees its port too.
func TestClosedBeforeStart(t *testing.T) {
	t.Parallel()
	s, err := Listen("0")
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	again, err := Listen(s.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

// scrape returns what /metrics says of a collector.
func scrape(t *testing.T, c *Collector) string {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/metrics", nil)
	Handler(c, thePage).ServeHTTP(w, r)
	body, err := io.ReadAll(w.Result().Body)
	if err != nil || w.Code != 200 {
		t.Fatalf("%d, %v: %s", w.Code, err, body)
	}
	return string(body)
}

// TestOnlyHere: a request that reaches this machine by a name of another site gets no answer.
func TestOnlyHere(t *testing.T) {
	t.Parallel()
	h := onlyHere(Handler(NewCollector("1"), thePage))
	for host, status := range map[string]int{
		"127.0.0.1:9435": 200, "localhost:9435": 200, "localhost": 200, "[::1]:9435": 200,
		"evil.example": 403, "evil.example:9435": 403, "127.0.0.1.evil.example": 403,
	} {
		r := httptest.NewRequest("GET", "/healthz", nil)
		r.Host = host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != status {
			t.Errorf("%s: got %d, want %d", host, w.Code, status)
		}
	}
}
