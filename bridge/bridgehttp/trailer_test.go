package bridgehttp_test

import (
	"bufio"
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"testing"
)

// A summed body sets a request's trailer when it has been read, as a checksum does.
type summed struct {
	io.Reader
	trailer http.Header
}

func (s summed) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err == io.EOF {
		s.trailer.Set("X-Sum", "42")
	}
	return n, err
}

// A server receives the trailers that a caller sets while the transport reads the body.
func TestTransportSendsTrailers(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			r := withProcessor(t)
			var got string
			s := r.open(t, protocol, http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
				_, _ = io.Copy(io.Discard, req.Body)
				got = req.Trailer.Get("X-Sum")
			}))
			trailer := http.Header{"X-Sum": nil}
			req := newRequest(t, http.MethodPost, s.url, summed{strings.NewReader("body"), trailer})
			req.Trailer = trailer
			call := r.caller(t, s.client.Transport)
			resp, err := call.client.Do(req.WithContext(call.ctx))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			s.handlers.Wait()
			if got != "42" {
				t.Errorf("the server received X-Sum %q, want 42", got)
			}
		})
	}
}

// A caller reads the trailers of a response, announced or not.
func TestTransportReceivesTrailers(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			r := withProcessor(t)
			s := r.open(t, protocol, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				if req.URL.Path == "/announced" {
					w.Header().Set("Trailer", "X-Announced")
				}
				_, _ = io.WriteString(w, "body")
				w.(http.Flusher).Flush()
				w.Header().Set("X-Announced", "1")
				w.Header().Set(http.TrailerPrefix+"X-Other", "2")
			}))
			call := r.caller(t, s.client.Transport)
			for path, want := range map[string]http.Header{
				"/announced": {"X-Announced": {"1"}, "X-Other": {"2"}},
				"/":          {"X-Other": {"2"}},
			} {
				resp := call.call(t, http.MethodGet, s.url+path, nil)
				if !maps.EqualFunc(resp.Trailer, want, func(a, b []string) bool { return strings.Join(a, ",") == strings.Join(b, ",") }) {
					t.Errorf("%s: the trailer is %v, want %v", path, resp.Trailer, want)
				}
			}
		})
	}
}

// A handler reads a request's trailers when it has read or closed the body, announced or not.
func TestMiddlewareShowsTrailers(t *testing.T) {
	for _, c := range []struct {
		name, announce string
		use            func(io.ReadCloser) error
	}{
		{"announced, the body read", "Trailer: X-Sum\r\n", func(b io.ReadCloser) error { _, err := io.Copy(io.Discard, b); return err }},
		{"the body read", "", func(b io.ReadCloser) error { _, err := io.Copy(io.Discard, b); return err }},
		{"the body closed", "", io.ReadCloser.Close},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := withProcessor(t)
			var before, after http.Header
			s := r.open(t, "http/1.1", r.wrap(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
				before = maps.Clone(req.Trailer)
				if err := c.use(req.Body); err != nil {
					t.Error(err)
				}
				after = req.Trailer
			})))
			conn, err := new(net.Dialer).DialContext(context.Background(), "tcp", strings.TrimPrefix(s.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"+c.announce+"\r\n4\r\nbody\r\n0\r\nX-Sum: 42\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			s.handlers.Wait()
			if before.Get("X-Sum") != "" || after.Get("X-Sum") != "42" {
				t.Errorf("X-Sum is %q before the body and %q after it, want nothing and 42", before.Get("X-Sum"), after.Get("X-Sum"))
			}
		})
	}
}
