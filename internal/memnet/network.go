// Package memnet implements a network in memory, for tests in bubbles of testing/synctest. The
// network connects clients and servers of any protocol. Deadlines use the bubble's clock. A
// connection contains buffers like a socket, so a write need not wait for a read.
//
//	var n memnet.Network
//	go server.Serve(n.Listen())
//	client := &http.Client{Transport: &http.Transport{DialContext: n.Dial}}
//
// net.Pipe has no buffers. A read deadline of grpc/test/bufconn may expire after the program has
// removed the deadline.
package memnet

import (
	"context"
	"net"
	"os"
	"sync"
	"syscall"
)

// Address is the only address of a network. HTTP clients use no proxy of the environment for
// Address.
const Address = "127.0.0.1:4317"

// A Network connects clients to one server. Without a listener, the network refuses connections.
// The zero value is ready for use. Create the Network in the bubble. The methods may be called
// concurrently.
type Network struct {
	mu       sync.Mutex
	listener *listener // the last one; nil: there was none
}

// Listen returns a listener that receives all later connections.
func (n *Network) Listen() net.Listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listener = &listener{conns: make(chan net.Conn), closed: make(chan struct{})}
	return n.listener
}

// Dial connects to the listener and ignores the address. Dial waits until the listener accepts the
// connection.
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
