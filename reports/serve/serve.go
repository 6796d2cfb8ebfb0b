// Package serve shows a running soak to Prometheus and to browsers, over HTTP.
//
//	server, err := serve.Listen("9435") // loopback only
//	c := serve.NewCollector(version)
//	server.Start(serve.Handler(c, page)) // page is the http.Handler of /
//	defer server.Close()
//	go c.Follow(ctx, dialects, "runs/x/soak.log")
//
// It only shows: there is no request that changes anything. What it holds in memory, and the number
// and the time of requests, are limited. A run goes on in the same way whether or not somebody
// watches.
package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// The limits of a [Server].
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	writeTimeout  = 15 * time.Second
	idleTimeout   = time.Minute
	closeTimeout  = time.Second
	maxHeader     = 16 << 10 // bytes
	maxConns      = 64
)

// A Server is an HTTP server.
type Server struct {
	listener net.Listener
	http     *http.Server
	served   chan struct{} // closed when the server has ended; nil before Start
}

// Listen opens the port of a server. The address is "host:port", ":port" or "port"; without a host
// the server listens on this machine's loopback address only. The port 0 stands for any free port.
func Listen(address string) (*Server, error) {
	full, err := complete(address)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", full)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("another program uses the address %s; end it, or choose another "+
			"port, such as 0 for any free one", full)
	case err != nil:
		return nil, err
	}
	return &Server{listener: &limited{Listener: l, open: make(chan struct{}, maxConns)}}, nil
}

// complete returns an address with its host.
func complete(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port = "", address // a port alone
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.Itoa(int(n)) != port {
		return "", fmt.Errorf("expected a port from 0 to 65535, such as 9435, or an address such as "+
			"127.0.0.1:9435, found %q", address)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// URL returns the address of a path of the server.
func (s *Server) URL(path string) string { return "http://" + s.listener.Addr().String() + path }

// Start answers requests until Close. On a loopback address it answers only those that name this
// machine: a page of another site could otherwise read the run, by a name of its own that leads to
// this machine (DNS rebinding).
func (s *Server) Start(h http.Handler) {
	if at, ok := s.listener.Addr().(*net.TCPAddr); ok && at.IP.IsLoopback() {
		h = onlyHere(h)
	}
	s.http = &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: log.New(io.Discard, "", 0), // broken requests do not concern the run
	}
	s.served = make(chan struct{})
	go func() {
		defer close(s.served)
		_ = s.http.Serve(s.listener) // always returns an error; after Close it is of no interest
	}()
}

// Close ends the server. It waits a moment for requests that are being answered.
func (s *Server) Close() {
	if s.served == nil {
		_ = s.listener.Close()
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close() // the client is too slow
	}
	<-s.served
}

// A limited listener has at most maxConns open connections. It closes further ones at once.
type limited struct {
	net.Listener
	open chan struct{} // has an element for each open connection
}

// Accept implements [net.Listener].
func (l *limited) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.open <- struct{}{}:
			return &counted{Conn: conn, open: l.open}, nil
		default:
			_ = conn.Close()
		}
	}
}

// A counted connection makes room for another one when it is closed.
type counted struct {
	net.Conn
	open chan struct{}
	once sync.Once
}

// Close implements [net.Conn].
func (c *counted) Close() error {
	c.once.Do(func() { <-c.open })
	return c.Conn.Close()
}

// onlyHere refuses requests whose Host is neither an address nor localhost.
func onlyHere(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		host = strings.Trim(host, "[]")
		if host != "localhost" && net.ParseIP(host) == nil {
			say(w, http.StatusForbidden, "vramsoak answers on 127.0.0.1 and localhost only\n")
			return
		}
		h.ServeHTTP(w, r)
	})
}
