package serve

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// maxConns is the most open connections of a [Server].
const maxConns = 64

// A limited listener has at most maxConns open connections. For a further one, it closes the one
// that has waited longest for a request of its client. If the server is answering requests on all
// of them, it closes the one whose answer takes longest. So a client that sends nothing, or does
// not read, cannot keep others out.
type limited struct {
	net.Listener

	mu   sync.Mutex
	open map[*conn]bool
	turn uint64 // counts the changes of all connections
}

// A conn is an open connection of a limited listener.
type conn struct {
	net.Conn
	of *limited
	// answering is set while a request is answered. changed is the turn in which the connection was
	// opened, or answering changed last.
	answering bool
	changed   uint64
}

func newLimited(l net.Listener) *limited { return &limited{Listener: l, open: map[*conn]bool{}} }

// Accept implements [net.Listener].
func (l *limited) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: accepted, of: l}
	if oldest := l.add(c); oldest != nil {
		_ = oldest.Conn.Close() // its client is too slow
	}
	return c, nil
}

// add adds a connection. If there are too many, it removes the oldest one and returns it.
func (l *limited) add(c *conn) (oldest *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= maxConns {
		for o := range l.open {
			if oldest == nil || o.before(oldest) {
				oldest = o
			}
		}
		delete(l.open, oldest)
	}
	l.turn++
	c.changed = l.turn
	l.open[c] = true
	return oldest
}

// before reports whether c is closed before o if there are too many connections.
func (c *conn) before(o *conn) bool {
	if c.answering != o.answering {
		return o.answering
	}
	return c.changed < o.changed
}

// setAnswering notes whether a request of the connection is being answered.
func (c *conn) setAnswering(answering bool) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.of.turn++
	c.answering, c.changed = answering, c.of.turn
}

// Close implements [net.Conn].
func (c *conn) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// connKey is the key of the connection in the context of its requests.
type connKey struct{}

// withConn is the ConnContext of the server.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// trackAnswers marks a connection as answering while h runs.
func trackAnswers(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connKey{}).(*conn); ok {
			c.setAnswering(true)
			defer c.setAnswering(false)
		}
		h.ServeHTTP(w, r)
	})
}
