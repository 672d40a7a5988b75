package signals

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/internal/cputime"
	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/otlp"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/otlpprofiles"
)

// A copier sends requests by OTLP, and keeps a copy of each.
type copier struct {
	*otlp.Sender
	mu   sync.Mutex // guards sent
	sent [][]byte
}

func newCopier(t *testing.T, endpoint, protocol string) *copier {
	t.Helper()
	settings, err := otlp.Resolve(environ.NewReader(slog.Default()), otlp.Config{Endpoint: endpoint, Protocol: protocol}, otlp.Profiles)
	if err != nil {
		t.Fatal(err)
	}
	s, err := settings.Sender()
	if err != nil {
		t.Fatal(err)
	}
	return &copier{Sender: s}
}

func (c *copier) Send(ctx context.Context, body []byte) exporter.Answer {
	a := c.Sender.Send(ctx, body)
	if a.Err == nil {
		c.mu.Lock()
		c.sent = append(c.sent, body)
		c.mu.Unlock()
	}
	return exporter.Answer{Err: a.Err, Retry: a.Retry, After: a.After, Unanswered: a.Unanswered, Rejected: a.Rejected, Message: a.Message}
}

// A receiver takes what the Collector sends.
type receiver struct {
	*httptest.Server
	mu  sync.Mutex // guards got
	got [][]byte
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil || req.URL.Path != "/v1development/profiles" {
			t.Errorf("a request to %s with the error %v", req.URL.Path, err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.got = append(r.got, body)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) all() [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// A Collector passes on the profiles that it gets: samples with values, times, stacks, attributes and links, and the
// resource. The links name spans that ran, at the times of their samples.
func TestCollector(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	to := newReceiver(t)
	c := startCollector(ctx, t, backend.CollectorConfig{Jaeger: "127.0.0.1:1", Profiles: to.URL})
	for protocol, endpoint := range map[string]string{otlp.GRPC: c.OTLPGRPC(), otlp.HTTP: c.OTLPHTTP()} {
		t.Run(protocol, func(t *testing.T) {
			to.mu.Lock()
			to.got = nil
			to.mu.Unlock()
			from := newCopier(t, endpoint, protocol)
			spans := tracetest.NewInMemoryExporter()
			pl, err := perfline.Start(ctx, perfline.Config{
				Service: "shop", Attributes: []attribute.KeyValue{attribute.StringSlice("zones", []string{"a", "b"}), attribute.Int("shard", 7)},
				SpanExporter:    spans,
				ProfileExporter: otlpprofiles.New(otlpprofiles.Config{Sender: from, Spans: profiling.EverySpan}),
			})
			if err != nil {
				t.Fatal(err)
			}
			ran := work(ctx, pl)
			if err := pl.Flush(ctx); err != nil {
				t.Error(err)
			}
			if err := pl.Shutdown(ctx); err != nil {
				t.Error(err)
			}
			books := pl.Stats().OTLPProfiles
			if books.Delivered != books.Accepted || books.Delivered == 0 {
				t.Errorf("the books are %+v", books)
			}
			sent := flatten(t, from.sent)
			if len(sent) != int(books.Delivered) {
				t.Errorf("%d profiles were sent, counted are %d", len(sent), books.Delivered)
			}
			var got map[string]string
			if err := backend.Poll(ctx, func() (bool, error) {
				got = flatten(t, to.all())
				return len(got) >= len(sent), nil
			}); err != nil {
				t.Fatalf("%d of %d profiles came: %v", len(got), len(sent), err)
			}
			if !maps.Equal(got, sent) {
				for id, want := range sent {
					if got[id] != want {
						t.Fatalf("sent was\n%s\ngot is\n%s", want, got[id])
					}
				}
				t.Error("the Collector sent other profiles, too")
			}
			checkContent(t, sent, ran)
		})
	}
}

// A period is when a span ran.
type period struct{ from, to time.Time }

// work uses the CPU under spans and without, allocates, contends for a mutex, and returns the spans by "trace/span".
func work(ctx context.Context, pl *perfline.Pipeline) map[string]period {
	runtime.SetBlockProfileRate(1)
	fraction := runtime.SetMutexProfileFraction(1)
	defer runtime.SetMutexProfileFraction(fraction)
	defer runtime.SetBlockProfileRate(0)
	spans := map[string]period{}
	tracer := pl.TracerProvider().Tracer("test")
	for range 2 {
		from := time.Now()
		spanCtx, span := tracer.Start(ctx, "request")
		innerCtx, inner := tracer.Start(spanCtx, "part")
		burn(innerCtx, 200*time.Millisecond)
		inner.End()
		burn(spanCtx, 200*time.Millisecond)
		span.End()
		for _, s := range []interface{ String() string }{span.SpanContext().SpanID(), inner.SpanContext().SpanID()} {
			spans[span.SpanContext().TraceID().String()+"/"+s.String()] = period{from, time.Now()}
		}
	}
	burn(ctx, 200*time.Millisecond)
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				mu.Lock()
				time.Sleep(100 * time.Microsecond)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	runtime.GC() // without it, the heap profile is of an earlier time
	return spans
}

var (
	sink   int
	blocks [][]byte
)

// burn uses so much CPU time of its thread, however long that takes: 20 samples.
//
//go:noinline
func burn(ctx context.Context, d time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	used := cputime.Thread()
	for cputime.Thread()-used < d && ctx.Err() == nil {
		for i := range 10_000 {
			sink += i * i
		}
		blocks = append(blocks[:min(len(blocks), 100)], make([]byte, 64<<10))
	}
}

// checkContent looks for what the program did in the profiles.
func checkContent(t *testing.T, sent map[string]string, ran map[string]period) {
	t.Helper()
	all := strings.Join(slices.Collect(maps.Values(sent)), "")
	for _, want := range []string{
		"cpu nanoseconds", "alloc_objects count", "alloc_space bytes", "inuse_objects count", "inuse_space bytes", "goroutine count", "contentions count", "delay nanoseconds",
		"perfline.profile.kind=mutex", "perfline.profile.kind=block", "integration/signals.burn", "service.name=shop", `zones=["a","b"]`, "shard=7",
		"process.executable.build_id.htlhash=", "profile.frame.type=go",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no profile has %q", want)
		}
	}
	linked, unlinked := map[string]bool{}, 0
	for line := range strings.Lines(all) {
		link, times, found := strings.Cut(strings.TrimSpace(line), " times ")
		if !found || !strings.Contains(link, "signals.burn") {
			continue
		}
		_, link, _ = strings.Cut(link, " link ")
		if link == "" {
			unlinked++
			continue
		}
		span, ok := ran[link]
		if !ok {
			t.Errorf("a link to %s, which did not run; these did: %v", link, ran)
			continue
		}
		linked[link] = true
		for nanos := range strings.FieldsSeq(times) {
			var at int64
			_, _ = fmt.Sscan(nanos, &at)
			if s := time.Unix(0, at); s.Before(span.from) || s.After(span.to) {
				t.Errorf("a sample of a span is of %v, the span ran from %v to %v", s, span.from, span.to)
			}
		}
	}
	if len(linked) != len(ran) || unlinked == 0 {
		t.Errorf("samples of %d spans, want %d; %d without a span", len(linked), len(ran), unlinked)
	}
}

// flatten returns all that requests have, by the profiles' ids: a line for the profile, and one for each sample.
func flatten(t *testing.T, requests [][]byte) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, body := range requests {
		r := pprofileotlp.NewExportRequest()
		if err := r.UnmarshalProto(body); err != nil {
			t.Fatal(err)
		}
		d := r.Profiles().Dictionary()
		for _, rp := range r.Profiles().ResourceProfiles().All() {
			for _, sp := range rp.ScopeProfiles().All() {
				for _, p := range sp.Profiles().All() {
					id := p.ProfileID().String()
					if all[id] != "" {
						t.Errorf("profile %s came twice", id)
					}
					all[id] = fmt.Sprintf("%s %s %v; %s %s %s; %s\n", rp.SchemaUrl(), sp.SchemaUrl(), sorted(rp.Resource().Attributes().All()),
						sp.Scope().Name(), sp.Scope().Version(), sorted(sp.Scope().Attributes().All()), profile(d, p))
				}
			}
		}
	}
	return all
}

func sorted[V interface{ AsString() string }](of func(func(string, V) bool)) []string {
	var all []string
	for k, v := range of {
		all = append(all, k+"="+v.AsString())
	}
	slices.Sort(all)
	return all
}

// attributes returns what has indices of attributes has.
func attributes(d pprofile.ProfilesDictionary, of interface{ AttributeIndices() pcommon.Int32Slice }) []string {
	m, err := pprofile.FromAttributeIndices(d.AttributeTable(), of, d)
	if err != nil {
		return []string{err.Error()}
	}
	return sorted(m.All())
}

func profile(d pprofile.ProfilesDictionary, p pprofile.Profile) string {
	text := func(i int32) string { return d.StringTable().At(int(i)) }
	lines := []string{fmt.Sprintf("%s %s at %d for %d by %s %s %d %d %s %d, %v", text(p.SampleType().TypeStrindex()), text(p.SampleType().UnitStrindex()), p.Time(), p.DurationNano(),
		text(p.PeriodType().TypeStrindex()), text(p.PeriodType().UnitStrindex()), p.Period(), p.DroppedAttributesCount(), p.OriginalPayloadFormat(), p.OriginalPayload().Len(),
		attributes(d, p))}
	for _, s := range p.Samples().All() {
		link := ""
		if s.LinkIndex() != 0 {
			l := d.LinkTable().At(int(s.LinkIndex()))
			link = l.TraceID().String() + "/" + l.SpanID().String()
		}
		times := strings.Trim(fmt.Sprint(s.TimestampsUnixNano().AsRaw()), "[]")
		lines = append(lines, fmt.Sprintf("%s %v %v link %s times %s", stack(d, s.StackIndex()), attributes(d, s), s.Values().AsRaw(), link, times))
	}
	slices.Sort(lines[1:])
	return strings.Join(lines, "\n")
}

func stack(d pprofile.ProfilesDictionary, i int32) string {
	var frames []string
	for _, l := range d.StackTable().At(int(i)).LocationIndices().All() {
		location := d.LocationTable().At(int(l))
		m := d.MappingTable().At(int(location.MappingIndex()))
		for _, line := range location.Lines().All() {
			f := d.FunctionTable().At(int(line.FunctionIndex()))
			frames = append(frames, fmt.Sprintf("%s@%d(%s:%d)", d.StringTable().At(int(f.NameStrindex())), f.StartLine(), d.StringTable().At(int(f.FilenameStrindex())), line.Line()))
		}
		frames = append(frames, fmt.Sprintf("%d %s %v %v", location.Address(), d.StringTable().At(int(m.FilenameStrindex())),
			attributes(d, m), attributes(d, location)))
	}
	return strings.Join(frames, ";")
}
