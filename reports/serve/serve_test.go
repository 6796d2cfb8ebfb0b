package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
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

// TestConnections: a server has at most maxConns connections, and refuses no new one when an old
// one has ended. When the server is closed, all its goroutines end, also those of clients that do
// not read.
func TestConnections(t *testing.T) { // not parallel: it looks at all goroutines
	s, err := Listen("0")
	if err != nil {
		t.Fatal(err)
	}
	s.Start(Handler(NewCollector("1"), thePage))
	// answers reports whether the server answers on a new connection, and leaves it open.
	answers := func() (net.Conn, bool) {
		conn, err := net.Dial("tcp", s.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintf(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
		_, err = bufio.NewReader(conn).ReadString('\n')
		return conn, err == nil
	}
	var open []net.Conn
	for i := range maxConns {
		conn, ok := answers()
		if !ok {
			t.Fatalf("connection %d has no answer", i)
		}
		open = append(open, conn)
	}
	if conn, ok := answers(); ok {
		t.Errorf("more than %d connections", maxConns)
	} else {
		_ = conn.Close()
	}
	_ = open[0].Close()
	for ok := false; !ok; { // the server notices the end a moment later
		var conn net.Conn
		if conn, ok = answers(); !ok {
			_ = conn.Close()
		}
		if t.Context().Err() != nil {
			t.Fatal("no new connection after one has ended")
		}
	}
	s.Close()
	for {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		if !strings.Contains(string(stacks), "net/http.(*conn)") &&
			!strings.Contains(string(stacks), "net/http.(*Server)") {
			break
		}
		time.Sleep(time.Millisecond)
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
