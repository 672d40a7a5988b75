package bridgehttp

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/perfline/perfline/bridge/internal/received"
)

// The moments of an outbound request that Resource Timing names.
const (
	domainLookupStart = iota
	domainLookupEnd
	connectStart
	secureConnectionStart
	connectEnd
	requestStart
	responseStart
)

var momentNames = [...]string{
	"domainLookupStart", "domainLookupEnd", "connectStart", "secureConnectionStart", "connectEnd",
	"requestStart", "responseStart",
}

// phases are the moments of an outbound request. httptrace tells them on other goroutines too. It
// also tells of connections that are dialled but not used in the end. Once there is a connection,
// these calls are not about this request.
type phases struct {
	mu        sync.Mutex // guards what follows
	connected bool
	reused    bool
	remote    net.Addr
	// since the request's start; 0 is a moment that has not come
	at [len(momentNames)]time.Duration
}

// trace returns the hooks that fill p in.
func (p *phases) trace(c *call) *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		// again, when a connection that was idle turned out dead
		GetConn:      func(string) { p.restart() },
		GotConn:      func(info httptrace.GotConnInfo) { p.got(c, info) },
		DNSStart:     func(httptrace.DNSStartInfo) { p.note(c, domainLookupStart) },
		DNSDone:      func(httptrace.DNSDoneInfo) { p.note(c, domainLookupEnd) },
		ConnectStart: func(string, string) { p.note(c, connectStart) }, // of several addresses
		ConnectDone:  func(_, _ string, err error) { p.connect(c, err) },

		TLSHandshakeStart: func() { p.note(c, secureConnectionStart) },
		// Resource Timing counts the handshake in
		TLSHandshakeDone:     func(_ tls.ConnectionState, err error) { p.connect(c, err) },
		GotFirstResponseByte: func() { p.note(c, responseStart) },
	}
}

// now is the time since the call's start, and never 0.
func (c *call) now() time.Duration { return max(c.tl.Now()-c.start, 1) }

// note notes a moment. It counts when it comes for the first time, and the end of connecting when
// it comes for the last time.
func (p *phases) note(c *call, moment int) {
	now := c.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if (p.at[moment] == 0 || moment == connectEnd) && (moment > connectEnd || !p.connected) {
		p.at[moment] = now
	}
}

// connect notes that a part of connecting is done.
func (p *phases) connect(c *call, err error) {
	if err == nil {
		p.note(c, connectEnd)
	}
}

func (p *phases) restart() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.connected, p.reused, p.remote = false, false, nil
	clear(p.at[:])
}

func (p *phases) got(c *call, info httptrace.GotConnInfo) {
	now := c.now()
	var remote net.Addr
	if info.Conn != nil {
		c.tl.Try(ofConnection, func() { remote = info.Conn.RemoteAddr() })
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.connected, p.reused, p.remote, p.at[requestStart] = true, info.Reused, remote, now
	if info.Reused {
		clear(p.at[:requestStart]) // of a dial that another request gets
	}
}

// peer is whom the connection is with.
func (p *phases) peer(c *call) (host string, port int) {
	p.mu.Lock()
	remote := p.remote
	p.mu.Unlock()
	c.tl.Try(ofConnection,
		func() { host, port = received.EndpointHostPort(received.EndpointOf(remote)) })
	return host, port
}

// append appends those that came, as attributes of a resource entry.
func (p *phases) append(attrs []slog.Attr) []slog.Attr {
	p.mu.Lock()
	defer p.mu.Unlock()
	for moment, at := range p.at {
		if at > 0 {
			attrs = append(attrs, slog.Duration(momentNames[moment], at))
		}
	}
	if p.connected {
		attrs = append(attrs, slog.Bool("reused", p.reused))
	}
	return attrs
}
