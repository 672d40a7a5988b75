package backend

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Kind is what a [Proxy] does with connections.
type Kind string

// The kinds.
const (
	Pass    Kind = "pass"
	Refuse  Kind = "refused" // does not listen, and has closed its connections
	Hang    Kind = "hanging" // accepts and reads, passes nothing on and never answers
	Slow    Kind = "slow"    // passes all on, as slowly as its Mode says
	Garbage Kind = "garbage" // answers with random bytes and passes nothing on
	// answers requests of HTTP/1.1 with 200 and random bytes, and passes nothing on
	Lie Kind = "lying"
	// has forgotten its open connections: they swallow all for good. New ones pass all on
	Forget Kind = "forgotten"
)

// A Mode is what a [Proxy] does. Of [Slow] it says how slowly.
type Mode struct {
	Kind Kind
	// of what the backend answers, each time that something of it arrives
	Delay          time.Duration
	BytesPerSecond int // of a connection, in each direction; 0 means no limit
}

// chunk is how many bytes a proxy passes on at a time.
const chunk = 16 << 10

// A Proxy is a TCP proxy on a loopback port of its own. Its methods may be called
// concurrently.
type Proxy struct {
	target   string
	address  string
	release  func() // gives the port back
	up, down atomic.Int64
	tasks    sync.WaitGroup

	mu       sync.Mutex // guards what follows
	mode     Mode
	changed  chan struct{} // closed when mode changes
	listener net.Listener  // nil while it refuses
	conns    map[*link]bool
	closed   bool
}

// A link is a client's connection and the one to the target, if there is one.
type link struct {
	client net.Conn

	forgotten atomic.Bool

	mu     sync.Mutex // guards server
	server net.Conn
	cut    bool
}

// NewProxy listens, in the mode Pass, for connections to target, which is host:port
// or a URL with it.
func NewProxy(ctx context.Context, target string) (*Proxy, error) {
	if u, err := url.Parse(target); err == nil && u.Host != "" {
		target = u.Host
	}
	if _, _, err := net.SplitHostPort(target); err != nil {
		return nil, fmt.Errorf("proxy to %q: must be host:port: %w", target, err)
	}
	own, err := loopbackPorts.reserve(ctx)
	if err != nil {
		return nil, err
	}
	p, err := open(ctx, target, "127.0.0.1:"+strconv.Itoa(own.number))
	if err != nil {
		own.release()
		return nil, err
	}
	p.release = own.release
	return p, nil
}

// Twin is another proxy to the same target, at the same port of 127.0.0.2: where a host with
// another address is. Only Linux has such an address.
func (p *Proxy) Twin(ctx context.Context) (*Proxy, error) {
	return open(ctx, p.target, strings.Replace(p.address, "127.0.0.1", "127.0.0.2", 1))
}

func open(ctx context.Context, target, address string) (*Proxy, error) {
	p := &Proxy{target: target, address: address, release: func() {}, mode: Mode{Kind: Pass},
		changed: make(chan struct{}), conns: map[*link]bool{}}
	l, err := p.listen(ctx)
	if err != nil {
		return nil, err
	}
	p.serve(l)
	return p, nil
}

// Address is host:port of where it listens, the same in all modes.
func (p *Proxy) Address() string { return p.address }

// URL is where it listens as a URL with http.
func (p *Proxy) URL() string { return "http://" + p.address }

// Bytes is how many bytes have been read of clients and of the target, in all
// connections.
func (p *Proxy) Bytes() (up, down int64) { return p.up.Load(), p.down.Load() }

// Set changes the mode. Connections stay open where the new mode can go on with them, as from Pass
// to Hang. Set cuts them when the mode becomes Refuse, Garbage or Lie. It also cuts them after
// Hang, Garbage and Lie, where bytes went nowhere. What it has forgotten stays so in all modes: a
// client that waits on such a connection has to leave it by itself.
func (p *Proxy) Set(m Mode) error {
	switch m.Kind {
	case Pass, Refuse, Hang, Slow, Garbage, Lie, Forget:
	default:
		return fmt.Errorf("proxy: mode %q: must be one of the kinds", m.Kind)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errors.New("proxy: it is closed")
	}
	before := p.mode.Kind
	p.mode = m
	close(p.changed)
	p.changed = make(chan struct{})
	for l := range p.conns {
		switch m.Kind {
		case Refuse, Garbage, Lie:
			l.close()
		case Forget:
			l.forgotten.Store(true)
		default:
			if before == Garbage || before == Lie || before == Hang && m.Kind != Hang {
				l.close()
			}
		}
	}
	switch {
	case m.Kind == Refuse && p.listener != nil:
		_ = p.listener.Close() // it listens no more either way
		p.listener = nil
	case m.Kind != Refuse && p.listener == nil:
		l, err := p.listen(context.Background())
		if err != nil {
			return err
		}
		p.serve(l)
	}
	return nil
}

// listen listens on the proxy's own address.
func (p *Proxy) listen(ctx context.Context) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", p.address)
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	return l, nil
}

// Close cuts all connections and returns when nothing of the proxy is left.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	if p.listener != nil {
		_ = p.listener.Close() // it listens no more either way
		p.listener = nil
	}
	for l := range p.conns {
		l.close()
	}
	close(p.changed)
	p.changed = make(chan struct{})
	p.mu.Unlock()
	p.tasks.Wait()
	p.release()
	return nil
}

// serve accepts connections of l. p.mu is held, or p is not shared yet.
func (p *Proxy) serve(l net.Listener) {
	p.listener = l
	p.tasks.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // it was closed
			}
			p.accept(conn)
		}
	})
}

func (p *Proxy) accept(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.mode.Kind == Refuse {
		_ = conn.Close() // it came right before the listener's end
		return
	}
	l := &link{client: conn}
	p.conns[l] = true
	p.tasks.Go(func() {
		p.run(l)
		l.close()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, l)
	})
}

func (p *Proxy) now() (Mode, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode, p.changed
}

// run passes on what the client sends, until one side ends or the link is cut.
func (p *Proxy) run(l *link) {
	switch mode, _ := p.now(); mode.Kind {
	case Garbage:
		p.answer(l, make([]byte, 512))
		return
	case Hang:
		p.answer(l, nil)
		return
	case Lie:
		p.lie(l)
		return
	default:
	}
	server, err := new(net.Dialer).Dial("tcp", p.target)
	if err != nil || !l.connect(server) {
		return // the backend is not there: the client sees its connection end
	}
	var answers sync.WaitGroup
	defer answers.Wait()
	answers.Go(func() { p.copy(l, l.client, server, &p.down, true) })
	p.copy(l, server, l.client, &p.up, false)
}

// copy passes on bytes of a link in one direction. In the mode Hang, and of a link that is
// forgotten, they go nowhere.
func (p *Proxy) copy(l *link, to, from net.Conn, count *atomic.Int64, answers bool) {
	defer to.Close()
	buffer := make([]byte, chunk)
	for {
		n, err := from.Read(buffer)
		count.Add(int64(n))
		mode, changed := p.now()
		switch mode.Kind {
		case Slow:
			wait := time.Duration(0)
			if answers {
				wait = mode.Delay
			}
			if mode.BytesPerSecond > 0 {
				wait += time.Duration(n) * time.Second / time.Duration(mode.BytesPerSecond)
			}
			select {
			case <-time.After(wait):
			case <-changed: // of the next mode's speed, or cut
			}
			mode, _ = p.now()
		default:
		}
		if n > 0 && mode.Kind != Hang && !l.forgotten.Load() {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// answer answers each piece that arrives with so many random bytes, or with nothing,
// until the client goes or the link is cut.
func (p *Proxy) answer(l *link, bytes []byte) {
	random := rand.NewChaCha8([32]byte{1}) // the same in each run
	buffer := make([]byte, chunk)
	for {
		n, err := l.client.Read(buffer)
		p.up.Add(int64(n))
		if err != nil {
			return
		}
		_, _ = random.Read(bytes) // never fails
		if _, err := l.client.Write(bytes); err != nil {
			return
		}
	}
}

// lie answers each request as if all were well.
func (p *Proxy) lie(l *link) {
	random := rand.NewChaCha8([32]byte{1}) // the same in each run
	requests := bufio.NewReader(io.TeeReader(l.client, tally{&p.up}))
	answer := make([]byte, 512)
	for {
		req, err := http.ReadRequest(requests)
		if err != nil {
			return // the client is gone, or speaks something else
		}
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return
		}
		_, _ = random.Read(answer) // never fails
		head := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", len(answer))
		if _, err := l.client.Write(append(head, answer...)); err != nil {
			return
		}
	}
}

// A tally counts what is written to it.
type tally struct{ *atomic.Int64 }

func (t tally) Write(bytes []byte) (int, error) {
	t.Add(int64(len(bytes)))
	return len(bytes), nil
}

// connect gives the link its connection to the target; false if it was cut before.
func (l *link) connect(server net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		_ = server.Close()
		return false
	}
	l.server = server
	return true
}

// close cuts both connections. More calls do nothing.
func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	_ = l.client.Close() // cut, not ended: what is on its way is lost
	if l.server != nil {
		_ = l.server.Close()
	}
}
