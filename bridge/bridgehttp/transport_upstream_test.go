package bridgehttp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"testing"
	"time"
)

// told are the server entries as text.
func (c *caller) entries() (out []string) {
	for _, e := range c.servers() {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %v %v", e.Name(), e.Duration(), attr(&e, "desc"))))
	}
	return out
}

// The metrics of the called server become entries. Malformed metrics and those over the
// limit do not.
func TestTransportServerTiming(t *testing.T) {
	many := strings.Repeat("m;dur=1,", 200)
	for _, c := range []struct {
		name    string
		fields  []string
		want    []string
		ignored string // malformed and dropped metrics
	}{
		{"none", nil, nil, "<nil> <nil>"},
		{"metrics", []string{`db;dur=1.5;desc="first query", miss`, "cpu;dur=0.001"}, []string{"db 1.5ms first query", "miss 0s <nil>", "cpu 1µs <nil>"}, "<nil> <nil>"},
		{"what does not belong is skipped", []string{"a;dur=1, =b;;", "good;dur=2", "c d", `e;desc="x`}, []string{"a 1ms <nil>", "good 2ms <nil>", "c 0s <nil>", "e 0s <nil>"}, "1 <nil>"},
		{"64 metrics of 10 000", slices.Repeat([]string{many}, 50), slices.Repeat([]string{"m 1ms <nil>"}, 64), "<nil> 9936"},
		{"a header of 1 MB", []string{"big;desc=" + strings.Repeat("x", 1<<20), "small;dur=1"}, []string{"small 1ms <nil>"}, "1 <nil>"},
	} {
		for _, protocol := range protocols {
			t.Run(c.name+" over "+protocol, func(t *testing.T) {
				r := withProcessor(t)
				s := r.open(t, protocol, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header()["Server-Timing"] = c.fields
					_, _ = io.WriteString(w, "body")
				}))
				call := r.caller(t, s.client.Transport)
				resp := call.call(t, http.MethodGet, s.url, nil)
				if got := call.entries(); !slices.Equal(got, c.want) {
					t.Errorf("got  %q\nwant %q", got, c.want)
				}
				if got := resp.Header.Values("Server-Timing"); !slices.Equal(got, c.fields) {
					t.Errorf("the caller got %d fields, want %d", len(got), len(c.fields))
				}
				resource := call.last(t)
				if got := fmt.Sprint(attr(resource, "serverTimingMalformed"), " ", attr(resource, "serverTimingDropped")); got != c.ignored {
					t.Errorf("malformed and dropped are %s, want %s", got, c.ignored)
				}
				for _, e := range call.servers() {
					if e.StartTime() != resource.StartTime() || attr(&e, "resource") != resource.Name() {
						t.Errorf("%s starts at %v with %s, want at %v with %q", e.Name(), e.StartTime(), shape(&e), resource.StartTime(), resource.Name())
					}
				}
			})
		}
	}
}

// A trailer tells more, once the body is read.
func TestTransportServerTimingTrailer(t *testing.T) {
	for _, protocol := range protocols {
		for _, read := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, read %v", protocol, read), func(t *testing.T) {
				r := withProcessor(t)
				s := r.open(t, protocol, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Trailer", "Server-Timing")
					w.Header().Set("Server-Timing", "early")
					_, _ = io.WriteString(w, "body")
					w.(http.Flusher).Flush()
					w.Header().Set("Server-Timing", "late;dur=3")
				}))
				call := r.caller(t, s.client.Transport)
				want := []string{"early 0s <nil>", "late 3ms <nil>"}
				if read {
					call.call(t, http.MethodGet, s.url, nil)
				} else {
					resp, err := call.client.Do(newRequest(t, http.MethodGet, s.url, nil).WithContext(call.ctx))
					if err != nil {
						t.Fatal(err)
					}
					resp.Body.Close()
					want = want[:1]
				}
				if got := call.entries(); !slices.Equal(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
			})
		}
	}
}

// When a connection that was idle turns out dead, the entry is about the second
// attempt: its connection, and the body as it was sent then.
func TestTransportTriesAgain(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		for puts := 0; ; {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			in := bufio.NewReader(conn)
			for {
				req, err := http.ReadRequest(in)
				if err != nil {
					break
				}
				_, _ = io.Copy(io.Discard, req.Body)
				if req.Method == http.MethodPut {
					if puts++; puts == 1 {
						break // instead of an answer
					}
				}
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			}
			conn.Close()
		}
	}()
	defer func() {
		l.Close()
		<-served
	}()
	r := withProcessor(t)
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	call := r.caller(t, base)
	url := "http://" + l.Addr().String()
	call.warm(t, "http/1.1", url)
	newBody := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("0123456789")), nil }
	first := struct{ io.Reader }{strings.NewReader("0123")} // of another length, to tell them apart
	req := newRequest(t, http.MethodPut, url, first).WithContext(call.ctx)
	req.GetBody = newBody
	req.Header.Set("Idempotency-Key", "1") // or it is not tried again
	resp, err := call.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	want := "initiatorType=fetch method=PUT responseStatus=200 nextHopProtocol=http/1.1 connectStart=T connectEnd=T requestStart=T responseStart=T reused=false requestBodySize=10 decodedBodySize=2 encodedBodySize=2"
	if got := shape(call.last(t)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	base.CloseIdleConnections()
}

// A dial that is not used in the end is not this call's, though its hooks come:
// before there is a connection, and after.
func TestTransportOfARacingDial(t *testing.T) {
	r := withProcessor(t)
	arrived, release := make(chan struct{}), make(chan struct{})
	answering, dialled := make(chan struct{}), make(chan struct{})
	s := r.open(t, "http/1.1", http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/first":
			close(arrived)
			<-release
		case "/second":
			close(answering)
			<-dialled
		}
	}))
	dials := 0
	base := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		if dials++; dials == 2 {
			httptrace.ContextClientTrace(ctx).ConnectStart(network, address)
			close(release) // the first connection is free before this one is made
			<-answering
			defer close(dialled)
		}
		return new(net.Dialer).DialContext(context.WithoutCancel(ctx), network, address)
	}}
	defer base.CloseIdleConnections()
	call := r.caller(t, base)
	first := make(chan error, 1)
	go func() { // takes the one connection
		req, err := http.NewRequestWithContext(call.ctx, http.MethodGet, s.url+"/first", nil)
		if err == nil {
			var resp *http.Response
			if resp, err = call.client.Do(req); err == nil {
				resp.Body.Close()
			}
		}
		first <- err
	}()
	within(t, arrived, "the first request")
	call.call(t, http.MethodGet, s.url+"/second", nil)
	if err := within(t, first, "the first request"); err != nil {
		t.Fatal(err)
	}
	want := "initiatorType=fetch method=GET responseStatus=200 nextHopProtocol=http/1.1 requestStart=T responseStart=T reused=true requestBodySize=0 decodedBodySize=0 encodedBodySize=0"
	if got := shape(call.last(t)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// With several addresses, connecting lasts from the first attempt to the successful one.
// With several responses, the first byte counts.
func TestTransportOfSeveralAddresses(t *testing.T) {
	r := withProcessor(t)
	var tried, refused, answered time.Duration
	call := r.caller(t, roundTrip(func(req *http.Request) (*http.Response, error) {
		trace := httptrace.ContextClientTrace(req.Context())
		trace.GetConn("x:80")
		trace.ConnectStart("tcp", "[::1]:80")
		tried = r.tl.Now()
		trace.ConnectDone("tcp", "[::1]:80", errFake)
		refused = r.tl.Now()
		trace.ConnectStart("tcp", "127.0.0.1:80")
		trace.ConnectDone("tcp", "127.0.0.1:80", nil)
		trace.GotConn(httptrace.GotConnInfo{})
		trace.GotFirstResponseByte() // of a 103, say
		answered = r.tl.Now()
		trace.GotFirstResponseByte()
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody}, nil
	}))
	call.call(t, http.MethodGet, "http://x/", nil)
	e := call.last(t)
	at := func(key string) time.Duration {
		d, _ := attr(e, key).(time.Duration)
		return e.StartTime() + d
	}
	if at("connectStart") > tried || at("connectEnd") < refused || at("responseStart") > answered {
		t.Errorf("got %v; the first attempt was made at %v and refused at %v, the answer came at %v", e.Detail(), tried, refused, answered)
	}
}
