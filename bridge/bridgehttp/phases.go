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

// Moments of an outbound request, by Resource Timing.
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

// phases records the moments of an outbound request. httptrace reports them on several goroutines.
// httptrace also reports a dial when another request then uses the connection. So phases ignores
// dials after the request has a connection.
type phases struct {
	mu        sync.Mutex // guards the fields below
	connected bool
	reused    bool
	remote    net.Addr
	at        [len(momentNames)]time.Duration // since the request's start; 0: not reached
}

// trace returns the hooks that record the moments in p.
func (p *phases) trace(c *call) *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn:      func(string) { p.restart() }, // again after an idle connection was dead
		GotConn:      func(info httptrace.GotConnInfo) { p.got(c, info) },
		DNSStart:     func(httptrace.DNSStartInfo) { p.note(c, domainLookupStart) },
		DNSDone:      func(httptrace.DNSDoneInfo) { p.note(c, domainLookupEnd) },
		ConnectStart: func(string, string) { p.note(c, connectStart) }, // once for each address
		ConnectDone:  func(_, _ string, err error) { p.connect(c, err) },

		TLSHandshakeStart: func() { p.note(c, secureConnectionStart) },
		// The connect time of Resource Timing includes the handshake.
		TLSHandshakeDone:     func(_ tls.ConnectionState, err error) { p.connect(c, err) },
		GotFirstResponseByte: func() { p.note(c, responseStart) },
	}
}

// now returns the time since the call's start, at least 1.
func (c *call) now() time.Duration { return max(c.tl.Now()-c.start, 1) }

// note records the first occurrence of a moment, and the last one of connectEnd.
func (p *phases) note(c *call, moment int) {
	now := c.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if (p.at[moment] == 0 || moment == connectEnd) && (moment > connectEnd || !p.connected) {
		p.at[moment] = now
	}
}

// connect records the end of a successful step of connecting.
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
		clear(p.at[:requestStart]) // these moments belong to a dial for another request
	}
}

// peer returns the remote end of the connection.
func (p *phases) peer(c *call) (host string, port int) {
	p.mu.Lock()
	remote := p.remote
	p.mu.Unlock()
	c.tl.Try(ofConnection,
		func() { host, port = received.EndpointHostPort(received.EndpointOf(remote)) })
	return host, port
}

// append appends the recorded moments as attributes of a resource entry.
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
