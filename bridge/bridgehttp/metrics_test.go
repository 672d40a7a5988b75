package bridgehttp_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/internal/scope"
)

// metered is a rig with a meter of its own.
type metered struct {
	*rig
	meters *sdkmetric.MeterProvider
	reader *sdkmetric.ManualReader
}

func withMeter(t *testing.T) *metered {
	t.Helper()
	m := &metered{rig: withProcessor(t), reader: sdkmetric.NewManualReader()}
	m.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(m.reader))
	return m
}

// collect is all that was recorded: a line for each instrument, and one for each of
// its attribute sets with the count and, of sizes, the sum.
func (m *metered) collect(t *testing.T) (out []string) {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := m.reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	for _, s := range all.ScopeMetrics {
		if s.Scope.Name != scope.Name {
			t.Errorf("scope %q", s.Scope.Name)
		}
		for _, x := range s.Metrics {
			out = append(out, fmt.Sprintf("%s %s", x.Name, x.Unit))
			switch data := x.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					if p.Sum <= 0 || p.Sum > 60 {
						t.Errorf("%s took %v s", x.Name, p.Sum)
					}
					out = append(out, fmt.Sprintf("%d in %v: %s", p.Count, p.Bounds, line(p.Attributes)))
				}
			case metricdata.Histogram[int64]:
				for _, p := range data.DataPoints {
					out = append(out, fmt.Sprintf("%d of %d: %s", p.Count, p.Sum, line(p.Attributes)))
				}
			default:
				t.Errorf("%s is a %T", x.Name, x.Data)
			}
		}
	}
	return out
}

func line(set attribute.Set) string {
	var out []string
	for _, kv := range set.ToSlice() {
		out = append(out, fmt.Sprintf("%s=%v", kv.Key, kv.Value.AsInterface()))
	}
	return strings.Join(out, " ")
}

// buckets are those that the conventions advise for durations in seconds.
const buckets = "[0.005 0.01 0.025 0.05 0.075 0.1 0.25 0.5 0.75 1 2.5 5 7.5 10]"

func TestServerMetrics(t *testing.T) {
	for _, sizes := range []bool{true, false} {
		t.Run(fmt.Sprintf("sizes %v", sizes), func(t *testing.T) { testServerMetrics(t, sizes) })
	}
}

func testServerMetrics(t *testing.T, sizes bool) {
	m := withMeter(t)
	mux := http.NewServeMux()
	mux.HandleFunc("/x/{id}", func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		switch req.PathValue("id") {
		case "500":
			w.WriteHeader(http.StatusInternalServerError)
		case "boom":
			panic("boom")
		default:
			_, _ = io.WriteString(w, "hello")
		}
	})
	server := m.server()
	server.MeterProvider, server.BodySizeMetrics = m.meters, sizes
	s := m.open(t, "http/1.1", server.Middleware(mux))
	for _, req := range []*http.Request{
		newRequest(t, http.MethodPost, s.url+"/x/1", strings.NewReader("0123456789")),
		newRequest(t, http.MethodPost, s.url+"/x/2?q", strings.NewReader("01234")),
		newRequest(t, http.MethodGet, s.url+"/x/500", nil),
		newRequest(t, "BREW", s.url+"/none", nil),
		newRequest(t, http.MethodPost, s.url+"/x/boom", strings.NewReader("01234")), // GET would be tried again
	} {
		_, _, _ = s.do(t, req)
	}
	const (
		ok      = "http.request.method=POST http.response.status_code=200 http.route=/x/{id} network.protocol.version=1.1 url.scheme=http"
		failed  = "error.type=500 http.request.method=GET http.response.status_code=500 http.route=/x/{id} network.protocol.version=1.1 url.scheme=http"
		unknown = "http.request.method=_OTHER http.response.status_code=404 network.protocol.version=1.1 url.scheme=http"
		boom    = "error.type=panic http.request.method=POST http.route=/x/{id} network.protocol.version=1.1 url.scheme=http"
	)
	want := []string{
		"http.server.request.duration s", "2 in " + buckets + ": " + ok, "1 in " + buckets + ": " + failed, "1 in " + buckets + ": " + unknown, "1 in " + buckets + ": " + boom,
	}
	if sizes {
		want = append(want,
			"http.server.request.body.size By", "2 of 15: "+ok, "1 of 0: "+failed, "1 of 0: "+unknown, "1 of 5: "+boom,
			"http.server.response.body.size By", "2 of 10: "+ok, "1 of 0: "+failed, "1 of 19: "+unknown, "1 of 0: "+boom)
	}
	sameLines(t, m.collect(t), want)
}

func TestClientMetrics(t *testing.T) {
	for i, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			m := withMeter(t)
			sizes := i == 0
			s := m.open(t, protocol, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				_, _ = io.Copy(io.Discard, req.Body)
				if req.URL.Path == "/404" {
					w.WriteHeader(http.StatusNotFound)
				}
				_, _ = io.WriteString(w, "hello")
			}))
			call := m.caller(t, nil)
			call.client.Transport = bridgehttp.Client{TracerProvider: m.provider, MeterProvider: m.meters, BodySizeMetrics: sizes}.Transport(s.client.Transport)
			for path, body := range map[string]string{"/a?q": "0123456789", "/b": "01234"} {
				sent := make(chan struct{}, 1)
				req := newRequest(t, http.MethodPost, s.url+path, closing{strings.NewReader(body), sent}).WithContext(call.ctx)
				if path != "/b" { // of unknown length
					req.ContentLength = int64(len(body))
				}
				resp, err := call.client.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				<-sent // the base may close a body after the answer
			}
			call.call(t, http.MethodGet, s.url+"/404", nil)
			broken := strings.Replace(s.url, "://", "x://", 1)
			if resp, err := call.client.Do(newRequest(t, http.MethodGet, broken, nil)); err == nil {
				resp.Body.Close()
				t.Error("no error")
			}
			scheme, rest, _ := strings.Cut(s.url, "://")
			host, port, _ := strings.Cut(rest, ":")
			where := " server.address=" + host + " server.port=" + port + " url.scheme=" + scheme
			version := " network.protocol.version=" + strings.TrimLeft(protocol, "htp/")
			ok := "http.request.method=POST http.response.status_code=200" + version + where
			notFound := "error.type=404 http.request.method=GET http.response.status_code=404" + version + where
			failed := "error.type=*errors.errorString http.request.method=GET" + where + "x"
			want := []string{
				"http.client.request.duration s", "2 in " + buckets + ": " + ok, "1 in " + buckets + ": " + notFound, "1 in " + buckets + ": " + failed,
			}
			if sizes {
				want = append(want, "http.client.request.body.size By", "2 of 15: "+ok, "1 of 0: "+notFound, "1 of 0: "+failed)
			}
			sameLines(t, m.collect(t), want)
		})
	}
}

// closing tells when it is closed the first time.
type closing struct {
	io.Reader
	closed chan struct{}
}

func (c closing) Close() error {
	select {
	case c.closed <- struct{}{}:
	default:
	}
	return nil
}

// A base may answer before it has sent the request's body. The duration is recorded then, and the size when the base has closed the body.
func TestSizeOfABodyThatIsSentLate(t *testing.T) {
	for _, c := range []struct {
		name   string
		send   string // what the base reads
		length int64  // ContentLength
		again  bool   // after a first attempt
		err    error
		want   string
	}{
		{"an answer", "0123456789", 10, false, nil, "1 of 10: http.request.method=POST http.response.status_code=200 network.protocol.version=1.1 "},
		{"an error", "0123456789", 10, false, errFake, "1 of 10: error.type=*errors.errorString http.request.method=POST "},
		{"longer than it says", "0123456789", 3, false, nil, "1 of 10: http.request.method=POST http.response.status_code=200 network.protocol.version=1.1 "},
		{"the second attempt counts", "0123456789", 10, true, nil, "1 of 10: http.request.method=POST http.response.status_code=200 network.protocol.version=1.1 "},
		{"nothing is read", "", 10, false, nil, "1 of 0: http.request.method=POST http.response.status_code=200 network.protocol.version=1.1 "},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := withMeter(t)
			var late io.ReadCloser
			base := roundTrip(func(r *http.Request) (*http.Response, error) {
				late = r.Body
				if c.again {
					_, _ = io.ReadFull(r.Body, make([]byte, 4))
					var err error
					if late, err = r.GetBody(); err != nil {
						t.Error(err)
					}
					_ = r.Body.Close()
				}
				if c.err != nil {
					return nil, c.err
				}
				return &http.Response{StatusCode: 200, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: http.NoBody}, nil
			})
			transport := bridgehttp.Client{TracerProvider: m.provider, MeterProvider: m.meters, BodySizeMetrics: true}.Transport(base)
			req := newRequest(t, http.MethodPost, "http://x/", strings.NewReader("0123456789"))
			req.ContentLength = c.length
			resp, err := transport.RoundTrip(req)
			if err == nil {
				resp.Body.Close()
			}
			where := "server.address=x server.port=80 url.scheme=http"
			before := m.collect(t)
			if len(before) != 2 || !strings.HasPrefix(before[1], "1 in ") {
				t.Errorf("before the body is closed: %q, want one duration", before)
			}
			_, _ = io.ReadFull(late, make([]byte, len(c.send)))
			for range 2 {
				_ = late.Close()
			}
			sameLines(t, m.collect(t), append(before, "http.client.request.body.size By", c.want+where))
		})
	}
}

// sameLines compares lines in any order.
func sameLines(t *testing.T, got, want []string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Under another instrumentation's span there are its metrics and not ours.
func TestServerMetricsUnderAServerSpan(t *testing.T) {
	m := withMeter(t)
	server := m.server()
	server.MeterProvider = m.meters
	ctx, span := m.tracer.Start(m.ctx, "theirs", trace.WithSpanKind(trace.SpanKindServer))
	defer span.End()
	server.Middleware(http.NotFoundHandler()).ServeHTTP(newPlainWriter(), newRequest(t, http.MethodGet, "/", nil).WithContext(ctx))
	if got := m.collect(t); len(got) != 0 {
		t.Errorf("got %q", got)
	}
}

// Kinds of requests without end, as routes that are made up, have right figures
// too: those that are kept and those that are made anew.
func TestServerMetricsOfManyKinds(t *testing.T) {
	const kinds, workers, each = 1100, 3, 2
	m := withMeter(t)
	m.reader = sdkmetric.NewManualReader()
	m.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(m.reader), sdkmetric.WithCardinalityLimit(2*kinds))
	server := m.server()
	server.MeterProvider, server.BodySizeMetrics = m.meters, true
	h := server.Middleware(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		bridgehttp.SetRoute(req.Context(), req.URL.Path)
		_, _ = io.WriteString(w, "hello")
	}))
	var wg sync.WaitGroup
	for range workers { // the first of a kind on several goroutines at once
		wg.Go(func() {
			for i := range kinds * each {
				h.ServeHTTP(newPlainWriter(), newRequest(t, http.MethodGet, fmt.Sprintf("/%d", i%kinds), nil))
			}
		})
	}
	wg.Wait()
	found := 0
	for _, l := range m.collect(t) {
		if !strings.Contains(l, "http.route=/") {
			continue
		}
		found++
		n := fmt.Sprint(workers * each)
		if !strings.HasPrefix(l, n+" in ") && !strings.HasPrefix(l, n+" of 0:") && !strings.HasPrefix(l, fmt.Sprintf("%s of %d:", n, 5*workers*each)) {
			t.Fatalf("got %s, want %s requests", l, n)
		}
	}
	if found != 3*kinds {
		t.Errorf("%d attribute sets, want %d", found, 3*kinds)
	}
}
