// Package response has a writer of HTTP responses that keeps nothing.
package response

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

var errNotHere = errors.New("not in a benchmark")

// A Discard is a response's writer with all methods of net/http's for HTTP/1.1. It takes
// what is written and keeps the headers only.
type Discard struct{ header http.Header }

// NewDiscard returns a writer without headers.
func NewDiscard() *Discard { return &Discard{header: http.Header{}} }

// Reset makes it the writer of another response.
func (w *Discard) Reset() { clear(w.header) }

// Header returns the response's headers.
func (w *Discard) Header() http.Header { return w.header }

// WriteHeader does nothing.
func (w *Discard) WriteHeader(int) {}

// Write takes all of b.
func (w *Discard) Write(b []byte) (int, error) { return len(b), nil }

// WriteString takes all of s.
func (w *Discard) WriteString(s string) (int, error) { return io.WriteString(io.Discard, s) }

// ReadFrom reads all of r.
func (w *Discard) ReadFrom(r io.Reader) (int64, error) { return io.Copy(io.Discard, r) }

// Flush does nothing.
func (w *Discard) Flush() {}

// FlushError does nothing.
func (w *Discard) FlushError() error { return nil }

// CloseNotify returns a channel that never gets anything.
func (w *Discard) CloseNotify() <-chan bool { return nil }

// Hijack fails.
func (w *Discard) Hijack() (net.Conn, *bufio.ReadWriter, error) { return nil, nil, errNotHere }

// SetReadDeadline does nothing.
func (w *Discard) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (w *Discard) SetWriteDeadline(time.Time) error { return nil }

// EnableFullDuplex does nothing.
func (w *Discard) EnableFullDuplex() error { return nil }
