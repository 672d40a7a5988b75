package memnet_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/internal/memnet"
)

// Bytes arrive in order, however many are written at once. The end of one side ends the other.
func TestPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := memnet.Pipe()
		sent := bytes.Repeat([]byte("0123456789"), 50_000) // more than the buffer
		go func() {
			if _, err := client.Write(sent); err != nil {
				t.Error(err)
			}
			_ = client.Close()
		}()
		synctest.Wait()
		got, err := io.ReadAll(server)
		if err != nil || !bytes.Equal(got, sent) {
			t.Errorf("%d of %d bytes arrived: %v", len(got), len(sent), err)
		}
		if _, err := server.Write(sent); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("a write to a closed end returned %v", err)
		}
		if _, err := client.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a read from the own closed end returned %v", err)
		}
		if _, err := client.Write(sent); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a write to the own closed end returned %v", err)
		}
		_ = server.Close()
	})
}

// A deadline ends the waiting calls of its direction, until it is lifted.
func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := memnet.Pipe()
		full := make([]byte, 1<<20)
		for _, c := range []struct {
			name string
			set  func(time.Time) error
			call func([]byte) (int, error)
		}{
			{"read", server.SetReadDeadline, server.Read},
			{"write", server.SetWriteDeadline, server.Write},
			{"both", server.SetDeadline, server.Read},
		} {
			began := time.Now()
			_ = c.set(began.Add(time.Hour))
			_, err := c.call(full)
			if took := time.Since(began); !errors.Is(err, os.ErrDeadlineExceeded) || took != time.Hour {
				t.Errorf("%s: %v after %v, want a deadline after an hour", c.name, err, took)
			}
			_ = c.set(time.Unix(1, 0)) // as net/http ends a read
			_ = c.set(time.Time{})
		}
		_, _ = client.Write([]byte("x"))
		synctest.Wait() // for effects of the earlier deadlines
		if n, err := server.Read(full); n != 1 || err != nil {
			t.Errorf("after the deadlines, %d bytes arrived: %v", n, err)
		}
		_, _ = client.Close(), server.Close()
	})
}

// Connections are refused before and after a listener, and wait for one that does not accept.
func TestNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n memnet.Network
		refused := func() {
			t.Helper()
			_, err := n.Dial(t.Context(), "tcp", memnet.Address)
			if !errors.Is(err, syscall.ECONNREFUSED) || !strings.Contains(err.Error(), "connection refused") {
				t.Errorf("a dial returned %v, want a refused connection", err)
			}
		}
		refused()
		for range 2 {
			l := n.Listen()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if _, err := n.Dial(ctx, "tcp", memnet.Address); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a dial without Accept returned %v", err)
			}
			cancel()
			go func() {
				if c, err := n.Dial(t.Context(), "tcp", memnet.Address); err != nil {
					t.Error(err)
				} else {
					_, _ = io.WriteString(c, "hello")
					_ = c.Close()
				}
			}()
			c, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(c); string(got) != "hello" || err != nil {
				t.Errorf("%q arrived: %v", got, err)
			}
			_, _ = c.Close(), l.Close()
			if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("Accept of a closed listener returned %v", err)
			}
			refused()
		}
	})
}
