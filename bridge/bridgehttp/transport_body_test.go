package bridgehttp_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"

	"github.com/perfline/perfline/internal/garbage"
	"github.com/perfline/perfline/observer"
)

// halfway answers with half of a body and then waits for the client to have read
// it, before it does what the path says.
func halfway(t *testing.T, read <-chan struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Length", "10")
		_, _ = io.WriteString(w, "01234")
		w.(http.Flusher).Flush()
		select {
		case <-read:
		case <-req.Context().Done():
		}
		switch req.URL.Path {
		case "/abort":
			panic(http.ErrAbortHandler)
		case "/reset":
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_ = conn.(*net.TCPConn).SetLinger(0)
			conn.Close()
		default:
			_, _ = io.WriteString(w, "56789")
		}
	}
}

// However the reading of a body ends, the call ends once, with what was read.
func TestTransportBodyEnds(t *testing.T) {
	half := func(t *testing.T, body io.Reader) {
		if _, err := io.ReadFull(body, make([]byte, 5)); err != nil {
			t.Error(err)
		}
	}
	type reading struct {
		*testing.T
		body   io.ReadCloser
		read   chan struct{} // closed when the rest may come
		cancel func()
	}
	for _, c := range []struct {
		name       string
		path       string
		use        func(reading)
		incomplete string // contained
		size       int64
		code       codes.Code
	}{
		{"read to its end", "/", func(r reading) {
			close(r.read)
			if b, err := io.ReadAll(r.body); err != nil || string(b) != "0123456789" {
				r.Errorf("read %q, %v", b, err)
			}
		}, "", 10, codes.Unset},
		{"read to its end and closed twice", "/", func(r reading) {
			close(r.read)
			_, _ = io.ReadAll(r.body)
			if err := errors.Join(r.body.Close(), r.body.Close()); err != nil {
				r.Error(err)
			}
		}, "", 10, codes.Unset},
		{"read as long as it is and closed", "/", func(r reading) {
			close(r.read)
			if _, err := io.ReadFull(r.body, make([]byte, 10)); err != nil {
				r.Error(err)
			}
			r.body.Close()
		}, "", 10, codes.Unset},
		{"closed early", "/", func(r reading) { half(r.T, r.body); r.body.Close() }, "closed", 5, codes.Unset},
		{"not read and closed", "/", func(r reading) { r.body.Close() }, "closed", 0, codes.Unset},
		{"closed and read", "/", func(r reading) {
			r.body.Close()
			if _, err := r.body.Read(make([]byte, 1)); err == nil {
				r.Error("a closed body could be read")
			}
		}, "closed", 0, codes.Unset},
		{"aborted by the server", "/abort", func(r reading) {
			half(r.T, r.body)
			close(r.read)
			if _, err := io.ReadAll(r.body); err == nil {
				r.Error("no error")
			}
			r.body.Close()
		}, "", 5, codes.Error},
		{"reset by the server", "/reset", func(r reading) {
			half(r.T, r.body)
			close(r.read)
			if _, err := io.ReadAll(r.body); err == nil {
				r.Error("no error")
			}
		}, "connection reset", 5, codes.Error},
		{"cancelled", "/", func(r reading) {
			half(r.T, r.body)
			r.cancel()
			if _, err := io.ReadAll(r.body); !errors.Is(err, context.Canceled) {
				r.Errorf("reading: %v", err)
			}
			r.body.Close()
		}, "context canceled", 5, codes.Error},
	} {
		for _, protocol := range protocols {
			if c.path == "/reset" && protocol == "h2" {
				continue // a handler cannot
			}
			t.Run(c.name+" over "+protocol, func(t *testing.T) {
				r := withProcessor(t)
				read := make(chan struct{})
				s := r.open(t, protocol, halfway(t, read))
				call := r.caller(t, s.client.Transport)
				ctx, cancel := context.WithCancel(call.ctx)
				defer cancel()
				resp, err := call.client.Do(newRequest(t, http.MethodGet, s.url+c.path, nil).WithContext(ctx))
				if err != nil {
					t.Fatal(err)
				}
				if n := len(call.resources()); n != 0 {
					t.Errorf("%d entries before the body was read", n)
				}
				c.use(reading{t, resp.Body, read, cancel})
				e := only(t, call.resources())
				resp.Body.Close()
				r.flush(t)
				span := r.got.one(t, "GET")
				incomplete, _ := attr(e, "incomplete").(string)
				failed := c.code == codes.Error
				if (incomplete != "") != (failed || c.incomplete != "") || !strings.Contains(incomplete, c.incomplete) {
					t.Errorf("incomplete is %q, want %q", incomplete, c.incomplete)
				}
				if got := attr(e, "decodedBodySize"); got != c.size || attr(e, "encodedBodySize") != c.size {
					t.Errorf("%v bytes, want %d", got, c.size)
				}
				if span.Status().Code != c.code || (tag(span, "error.type") != "") != failed || (failed && span.Status().Description != incomplete) {
					t.Errorf("status %v, error.type %q, want %v", span.Status(), tag(span, "error.type"), c.code)
				}
				only(t, call.resources())
			})
		}
	}
}

// Without a body the call is over with the header, or is complete when closed.
func TestTransportWithoutABody(t *testing.T) {
	for _, protocol := range protocols {
		for _, method := range []string{http.MethodHead, http.MethodGet} {
			r := withProcessor(t)
			s := r.open(t, protocol, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
			call := r.caller(t, s.client.Transport)
			resp, err := call.client.Do(newRequest(t, method, s.url, nil).WithContext(call.ctx))
			if err != nil {
				t.Fatal(err)
			}
			if n := len(call.resources()); n != 1 && (protocol == "http/1.1" || method == http.MethodHead) {
				t.Errorf("%s over %s: %d entries before the body was closed", method, protocol, n)
			}
			resp.Body.Close()
			if e := only(t, call.resources()); attr(e, "incomplete") != nil {
				t.Errorf("%s over %s: %s", method, protocol, shape(e))
			}
		}
	}
}

// A body that is neither read nor closed ends its call at its last use.
func TestTransportBodyIsAbandoned(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			r := withProcessor(t)
			s := r.open(t, protocol, halfway(t, nil))
			call := r.caller(t, s.client.Transport)
			ctx, cancel := context.WithCancel(call.ctx)
			defer cancel() // the connection is kept till then
			var before time.Duration
			forget := func(meanwhile func()) {
				resp, err := call.client.Do(newRequest(t, http.MethodGet, s.url, nil).WithContext(ctx))
				if err != nil {
					t.Fatal(err)
				}
				before = r.tl.Now()
				if _, err := io.ReadFull(resp.Body, make([]byte, 3)); err != nil {
					t.Error(err)
				}
				meanwhile()
				runtime.KeepAlive(resp) // or a collection may end the call before
			}
			var after time.Duration
			ended := make(chan struct{}, 1)
			forget(func() {
				after = r.tl.Now()
				if n := len(call.resources()); n != 0 {
					t.Fatalf("%d entries while the body may be read", n)
				}
				obs, err := r.tl.Observe(func(observer.List) { ended <- struct{}{} }, observer.Options{Type: observer.Resource})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(obs.Disconnect)
			})
			if !afterGC(ended) {
				t.Fatal("the call does not end")
			}
			e := only(t, call.resources())
			if attr(e, "incomplete") != "abandoned" || attr(e, "decodedBodySize") != int64(3) {
				t.Errorf("got %s", shape(e))
			}
			if end := e.StartTime() + e.Duration(); end < before || end > after {
				t.Errorf("it ends at %v, its last use was from %v to %v", end, before, after)
			}
			r.flush(t)
			span := r.got.one(t, "GET")
			if got := span.EndTime().Sub(span.StartTime()) - e.Duration(); got.Abs() > 1e6 {
				t.Errorf("the span is longer than the entry by %v", got)
			}
		})
	}
}

// A call that is over does not end again when its body is collected.
func TestTransportBodyIsCollected(t *testing.T) {
	r := withProcessor(t)
	s := r.open(t, "http/1.1", http.NotFoundHandler())
	call := r.caller(t, s.client.Transport)
	var responses garbage.Objects
	func() {
		garbage.Watch(&responses, "response", call.call(t, http.MethodGet, s.url, nil))
	}()
	responses.Wait(t)
	runtime.GC()
	only(t, call.resources())
	r.flush(t)
	r.got.one(t, "GET")
}

// Several goroutines may read and close: the call ends once.
func TestTransportBodyConcurrently(t *testing.T) {
	for _, protocol := range protocols {
		r := withProcessor(t)
		s := r.open(t, protocol, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for range 64 {
				if _, err := w.Write(make([]byte, 4<<10)); err != nil {
					return
				}
			}
		}))
		call := r.caller(t, s.client.Transport)
		const calls = 20
		for range calls {
			resp, err := call.client.Do(newRequest(t, http.MethodGet, s.url, nil).WithContext(call.ctx))
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			wg.Go(func() { _, _ = io.Copy(io.Discard, resp.Body) })
			wg.Go(func() { resp.Body.Close() })
			wg.Go(func() { resp.Body.Close() })
			wg.Wait()
		}
		r.flush(t)
		if entries, spans := len(call.resources()), len(r.got.all()); entries != calls || spans != calls {
			t.Errorf("over %s: %d entries and %d spans, want %d", protocol, entries, spans, calls)
		}
	}
}

// A connection that switched protocols is written to as well.
func TestTransportSwitchesProtocols(t *testing.T) {
	r := withProcessor(t)
	s := r.open(t, "http/1.1", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "echo")
		w.WriteHeader(http.StatusSwitchingProtocols)
		conn, buf, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		all, err := io.ReadAll(buf) // until the client is done writing
		if err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(conn, "echo "+string(all))
	}))
	call := r.caller(t, s.client.Transport)
	req := newRequest(t, http.MethodGet, s.url, nil).WithContext(call.ctx)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	resp, err := call.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	both, ok := resp.Body.(io.ReadWriteCloser)
	if !ok {
		t.Fatalf("the body of a %s is a %T, which cannot be written to", resp.Status, resp.Body)
	}
	if _, err := io.WriteString(both, "hello"); err != nil {
		t.Error(err)
	}
	half, ok := resp.Body.(interface{ CloseWrite() error })
	if !ok {
		t.Fatalf("the body of a %s is a %T, which cannot be closed for writing", resp.Status, resp.Body)
	}
	if err := half.CloseWrite(); err != nil {
		t.Error(err)
	}
	if b, err := io.ReadAll(both); err != nil || string(b) != "echo hello" {
		t.Errorf("read %q, %v", b, err)
	}
	if e := only(t, call.resources()); attr(e, "responseStatus") != int64(101) || attr(e, "decodedBodySize") != int64(10) {
		t.Errorf("got %s", shape(e))
	}
}
