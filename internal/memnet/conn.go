package memnet

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// bufferSize is how many bytes a connection holds in each direction until the other end reads them.
const bufferSize = 64 << 10

// A stream is one direction of a connection.
type stream struct {
	mu      sync.Mutex // guards what follows
	changed sync.Cond
	buffer  bytes.Buffer
	from    bool // the writer's end is closed
	to      bool // the reader's end is closed
	read    time.Time
	written time.Time // deadlines; zero: none
}

func newStream() *stream {
	s := &stream{}
	s.changed.L = &s.mu
	return s
}

func (s *stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.to:
			return 0, net.ErrClosed
		case isOver(s.read):
			return 0, os.ErrDeadlineExceeded
		case s.buffer.Len() > 0:
			s.changed.Broadcast()
			return s.buffer.Read(p)
		case s.from:
			return 0, io.EOF
		}
		s.changed.Wait()
	}
}

func (s *stream) Write(p []byte) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.from:
			return n, net.ErrClosed
		case s.to:
			return n, syscall.ECONNRESET
		case isOver(s.written):
			return n, os.ErrDeadlineExceeded
		}
		if room := bufferSize - s.buffer.Len(); room > 0 {
			s.changed.Broadcast()
			part, _ := s.buffer.Write(p[n:min(len(p), n+room)])
			if n += part; n == len(p) {
				return n, nil
			}
		}
		s.changed.Wait()
	}
}

// set changes a field under the lock.
func set[T any](s *stream, field *T, value T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*field = value
	s.changed.Broadcast()
}

// until sets a deadline.
func (s *stream) until(deadline *time.Time, t time.Time) {
	set(s, deadline, t)
	if !t.IsZero() {
		time.AfterFunc(time.Until(t), s.wake)
	}
}

// wake makes all look at the deadlines. Under the lock, nobody is between such a look and the wait
// that follows it.
func (s *stream) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed.Broadcast()
}

func isOver(deadline time.Time) bool { return !deadline.IsZero() && !time.Now().Before(deadline) }

// A conn is one end of a connection.
type conn struct{ in, out *stream }

// Pipe returns both ends of a new connection in memory.
func Pipe() (client, server net.Conn) {
	a, b := newStream(), newStream()
	return conn{a, b}, conn{b, a}
}

func (c conn) Read(p []byte) (int, error)  { return c.in.Read(p) }
func (c conn) Write(p []byte) (int, error) { return c.out.Write(p) }

func (c conn) Close() error {
	set(c.in, &c.in.to, true)
	set(c.out, &c.out.from, true)
	return nil
}

func (c conn) SetReadDeadline(t time.Time) error {
	c.in.until(&c.in.read, t)
	return nil
}

func (c conn) SetWriteDeadline(t time.Time) error {
	c.out.until(&c.out.written, t)
	return nil
}

func (c conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (conn) LocalAddr() net.Addr  { return addr{} }
func (conn) RemoteAddr() net.Addr { return addr{} }
