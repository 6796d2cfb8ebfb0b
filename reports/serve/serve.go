// Package serve shows a running soak to Prometheus and to browsers, over HTTP.
//
//	server, err := serve.Listen("9435") // loopback only
//	c := serve.NewCollector(version)
//	server.Start(serve.Handler(c, serve.NewPage(build))) // build returns the HTML of /
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
	"syscall"
	"time"
)

// timeouts limit how long a client may take.
type timeouts struct {
	header, read, write time.Duration // for the head of a request, all of it, the answer
	idle                time.Duration // between two requests
}

var defaultTimeouts = timeouts{
	header: 5 * time.Second, read: 10 * time.Second, write: 15 * time.Second, idle: time.Minute,
}

const (
	closeTimeout = time.Second
	maxHeader    = 16 << 10 // bytes
)

// A Server is an HTTP server.
type Server struct {
	listener net.Listener
	timeouts timeouts
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
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("this machine does not have the address of %s; give an address of "+
			"this machine, or a port alone", full)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("this user may not use the port of %s; choose a port from 1024 on, "+
			"such as 9435", full)
	case err != nil:
		return nil, err
	}
	return &Server{listener: newLimited(l), timeouts: defaultTimeouts}, nil
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

// URL returns the address of a path of the server, as a client on another machine needs it. If the
// server listens on all addresses, it is one of them.
func (s *Server) URL(path string) string {
	host, port, err := net.SplitHostPort(s.listener.Addr().String())
	if err != nil {
		return "http://" + s.listener.Addr().String() + path
	}
	if net.ParseIP(host).IsUnspecified() {
		host = outerAddress()
	}
	return "http://" + net.JoinHostPort(host, port) + path
}

// IsPublic reports whether other machines can reach the server.
func (s *Server) IsPublic() bool {
	at, ok := s.listener.Addr().(*net.TCPAddr)
	return !ok || !at.IP.IsLoopback()
}

// outerAddress returns the address of this machine that other machines most likely reach: that of
// the interface with the default route, or else of the first interface that has one. Without a
// network it returns the loopback address.
func outerAddress() string {
	// Connecting a UDP socket sends nothing. The address is reserved for documentation (RFC 5737).
	if c, err := net.Dial("udp4", "192.0.2.1:9"); err == nil {
		defer func() { _ = c.Close() }() // nothing was sent
		if at, ok := c.LocalAddr().(*net.UDPAddr); ok && at.IP.IsGlobalUnicast() {
			return at.IP.String()
		}
	}
	all, _ := net.InterfaceAddrs() // nil after an error
	for _, a := range all {
		if at, ok := a.(*net.IPNet); ok && at.IP.IsGlobalUnicast() {
			return at.IP.String()
		}
	}
	return "127.0.0.1"
}

// Start answers requests until Close. On a loopback address it answers only those that name this
// machine: a page of another site could otherwise read the run, by a name of its own that leads to
// this machine (DNS rebinding).
func (s *Server) Start(h http.Handler) {
	if !s.IsPublic() {
		h = onlyHere(h)
	}
	s.http = &http.Server{
		Handler: trackAnswers(h), ConnContext: withConn, MaxHeaderBytes: maxHeader,
		ReadHeaderTimeout: s.timeouts.header, ReadTimeout: s.timeouts.read,
		WriteTimeout: s.timeouts.write, IdleTimeout: s.timeouts.idle,
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
