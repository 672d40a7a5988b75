package bridgehttp

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/http/httptrace"
	"sync"
	"time"
)

// phases are the moments of an outbound request as Resource Timing names them,
// since the request's start; 0 is one that has not come. httptrace tells them on
// other goroutines too, and of connections that are dialled but not used in the
// end: what comes once there is a connection is not about this request.
type phases struct {
	mu        sync.Mutex // guards what follows
	connected bool
	reused    bool
	remote    net.Addr

	dnsStart, dnsEnd         time.Duration
	connectStart, connectEnd time.Duration
	tlsStart                 time.Duration
	requestStart             time.Duration
	responseStart            time.Duration
}

// trace returns the hooks that fill p in.
func (p *phases) trace(c *call) *httptrace.ClientTrace {
	note := func(connecting, again bool, at ...*time.Duration) {
		now := max(c.tl.Now()-c.start, 1)
		p.mu.Lock()
		defer p.mu.Unlock()
		if connecting && p.connected {
			return
		}
		for _, d := range at {
			if *d == 0 || again {
				*d = now
			}
		}
	}
	return &httptrace.ClientTrace{
		GetConn: func(string) { p.restart() }, // again, when a connection that was idle turned out dead
		GotConn: func(info httptrace.GotConnInfo) {
			note(false, true, &p.requestStart)
			p.got(info)
		},
		DNSStart:     func(httptrace.DNSStartInfo) { note(true, false, &p.dnsStart) },
		DNSDone:      func(httptrace.DNSDoneInfo) { note(true, false, &p.dnsEnd) },
		ConnectStart: func(string, string) { note(true, false, &p.connectStart) }, // the first of several addresses
		ConnectDone: func(_, _ string, err error) {
			if err == nil {
				note(true, true, &p.connectEnd)
			}
		},
		TLSHandshakeStart: func() { note(true, false, &p.tlsStart) },
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			if err == nil {
				note(true, true, &p.connectEnd) // Resource Timing counts the handshake in
			}
		},
		GotFirstResponseByte: func() { note(false, false, &p.responseStart) },
	}
}

func (p *phases) restart() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.connected, p.reused, p.remote = false, false, nil
	p.unconnected()
	p.requestStart, p.responseStart = 0, 0
}

// unconnected forgets how a connection was made.
func (p *phases) unconnected() {
	p.dnsStart, p.dnsEnd, p.connectStart, p.connectEnd, p.tlsStart = 0, 0, 0, 0, 0
}

func (p *phases) got(info httptrace.GotConnInfo) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.connected, p.reused = true, info.Reused
	if info.Conn != nil {
		p.remote = info.Conn.RemoteAddr()
	}
	if info.Reused {
		p.unconnected() // of a dial that another request gets
	}
}

// answer notes the response's header where no byte was seen to arrive: of a
// transport that knows no httptrace.
func (p *phases) answer(at time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.responseStart == 0 {
		p.responseStart = at
	}
}

// peer is whom the connection is with.
func (p *phases) peer() (host string, port int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.remote == nil {
		return "", 0
	}
	return splitHostPort(p.remote.String())
}

// append appends those that came, as attributes of a resource entry.
func (p *phases) append(attrs []slog.Attr) []slog.Attr {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, phase := range []struct {
		name string
		at   time.Duration
	}{
		{"domainLookupStart", p.dnsStart}, {"domainLookupEnd", p.dnsEnd},
		{"connectStart", p.connectStart}, {"secureConnectionStart", p.tlsStart}, {"connectEnd", p.connectEnd},
		{"requestStart", p.requestStart}, {"responseStart", p.responseStart},
	} {
		if phase.at > 0 {
			attrs = append(attrs, slog.Duration(phase.name, phase.at))
		}
	}
	if p.connected {
		attrs = append(attrs, slog.Bool("reused", p.reused))
	}
	return attrs
}
