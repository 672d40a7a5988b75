package faulttest

import (
	"io"
	"net"

	"github.com/perfline/perfline/internal/otlp"
)

// drop ends the connections of the fault.
func (r *receiver) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.cut {
		_ = c.Close()
	}
}

// failing gives the receiver its connections, as the fault makes them.
type failing struct {
	net.Listener
	receiver *receiver
}

// Accept returns the next connection. While the receiver fails, the fault changes the connection.
// Accept implements net.Listener.
func (f *failing) Accept() (net.Conn, error) {
	for {
		c, err := f.Listener.Accept()
		if err != nil || f.receiver.isWell() {
			return c, err
		}
		r := f.receiver
		if r.fault.conn == nil && !r.fault.reply.lost {
			return c, nil
		}
		r.mu.Lock()
		r.cut = append(r.cut, c)
		r.mu.Unlock()
		if conn := r.fault.conn; conn != nil {
			c = conn(r, c)
		}
		if c != nil {
			return c, nil
		}
	}
}

// mute reads, and never answers.
func mute(r *receiver, c net.Conn) net.Conn {
	r.serving.Go(func() { _, _ = io.Copy(io.Discard, c) })
	return nil
}

// noise answers with bytes that are no protocol.
func noise(r *receiver, c net.Conn) net.Conn {
	r.serving.Go(func() {
		defer func() { _ = c.Close() }()
		least := 1
		if r.protocol == otlp.HTTP {
			// the body, too: net/http reports a body that it cannot write before the noise
			least = 1 << 10
		}
		if _, err := io.ReadAtLeast(c, make([]byte, 4<<10), least); err == nil {
			_, _ = c.Write([]byte(
				"\x00\xff\x17 noise \xfe\xed\n\n\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09"))
		}
	})
	return nil
}

// midBatch is a connection that ends after some of a batch.
func midBatch(_ *receiver, c net.Conn) net.Conn { return &cutConn{Conn: c, left: 20_000} }

type cutConn struct {
	net.Conn
	left int
}

// Read closes the connection after a fixed number of bytes, in the middle of a batch. Read
// implements net.Conn.
func (c *cutConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	if c.left -= n; c.left == 0 {
		_ = c.Close()
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}
