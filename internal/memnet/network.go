// Package memnet is a network in memory, for tests in bubbles of testing/synctest: clients and
// servers of any protocol meet there, and their deadlines are in fake time. A connection has
// buffers, as a socket has: a program that writes need not wait for one that reads.
//
//	var n memnet.Network
//	go server.Serve(n.Listen())
//	client := &http.Client{Transport: &http.Transport{DialContext: n.Dial}}
//
// net.Pipe has no buffers. The read deadlines of grpc/test/bufconn may take effect after they have
// been lifted.
package memnet

import (
	"context"
	"net"
	"os"
	"sync"
	"syscall"
)

// Address is the only one of a network. Proxies of the environment are not asked for it.
const Address = "127.0.0.1:4317"

// A Network leads to one server. Connections are refused while nothing listens. The zero value is
// ready. Make it in the bubble. Its methods may be called concurrently.
type Network struct {
	mu       sync.Mutex
	listener *listener // the last one; nil: there was none
}

// Listen returns a listener that gets the connections from now on.
func (n *Network) Listen() net.Listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listener = &listener{conns: make(chan net.Conn), closed: make(chan struct{})}
	return n.listener
}

// Dial connects to the listener, whatever the address. It waits until the connection is accepted.
func (n *Network) Dial(ctx context.Context, network, _ string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listener
	n.mu.Unlock()
	reason := os.NewSyscallError("connect", syscall.ECONNREFUSED)
	refused := &net.OpError{Op: "dial", Net: network, Addr: addr{}, Err: reason}
	if l == nil {
		return nil, refused
	}
	client, server := Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, refused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type listener struct {
	conns  chan net.Conn
	close  sync.Once
	closed chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.close.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) Addr() net.Addr { return addr{} }

type addr struct{}

func (addr) Network() string { return "memory" }
func (addr) String() string  { return Address }
