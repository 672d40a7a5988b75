// Package pprof_test checks perfline's profiles with google/pprof: traces that the profiler recorded or that were built of samples, and
// profiles as they are pushed to Pyroscope. It uses exported names only.
package pprof_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/perfline/perfline/profiling"
	perf "github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/pyroscope"
)

// check fails unless p is valid, can be merged, and is the same after it was written and read.
func check(t *testing.T, p *profile.Profile, others ...*profile.Profile) {
	t.Helper()
	if err := p.CheckValid(); err != nil {
		t.Fatalf("CheckValid: %v", err)
	}
	first := written(t, p)
	parsed, err := profile.ParseData(first)
	if err != nil {
		t.Fatalf("ParseData: %v", err)
	}
	if second := written(t, parsed); !bytes.Equal(first, second) {
		t.Errorf("%d bytes have become %d after ParseData and Write:\n%s\n%s", len(first), len(second), p, parsed)
	}
	for _, other := range append(others, parsed, p) {
		merged, err := profile.Merge([]*profile.Profile{p, other})
		if err != nil {
			t.Fatalf("Merge: %v", err)
		}
		if err := merged.CheckValid(); err != nil {
			t.Errorf("CheckValid after Merge: %v", err)
		}
		for i, sum := range sums(merged) {
			if want := sums(p)[i] + sums(other)[i]; sum != want {
				t.Errorf("Merge: %s is %d, want %d", p.SampleType[i].Type, sum, want)
			}
		}
		merged = parsedOf(t, written(t, merged))
		if diff := len(merged.Sample) - len(merged.Compact().Sample); diff != 0 {
			t.Errorf("Compact has joined %d more samples", diff)
		}
	}
}

func written(t *testing.T, p *profile.Profile) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatalf("Write: %v", err)
	}
	return b.Bytes()
}

func parsedOf(t *testing.T, data []byte) *profile.Profile {
	t.Helper()
	p, err := profile.ParseData(data)
	if err != nil {
		t.Fatalf("ParseData: %v", err)
	}
	return p
}

func sums(p *profile.Profile) []int64 {
	all := make([]int64, len(p.SampleType))
	for _, s := range p.Sample {
		for i, v := range s.Value {
			all[i] += v
		}
	}
	return all
}

// ofTrace returns a trace's profile, from Pprof and from WritePprof.
func ofTrace(t *testing.T, tr *perf.Trace) *profile.Profile {
	t.Helper()
	p, err := tr.Pprof()
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := tr.WritePprof(&file); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(file.Bytes(), written(t, p)) {
		t.Error("WritePprof and Pprof differ")
	}
	return p
}

func work(ctx context.Context, until time.Duration) {
	pprof.Do(ctx, pprof.Labels("job", "sort", "odd \"key\"", "é\n"), func(context.Context) {
		for start := time.Now(); time.Since(start) < until; {
			all := rand.Perm(10_000)
			slices.Sort(all)
			_ = fmt.Sprint(all)
		}
	})
}

// record returns a trace of this program.
func record(t *testing.T, o profiling.Options) *perf.Trace {
	t.Helper()
	p, err := profiling.Start(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() { work(context.Background(), 400*time.Millisecond) })
	}
	profiling.ForceSample()
	group.Wait()
	tr, err := p.Stop()
	if err != nil {
		t.Fatal(err)
	}
	if len(tr.Samples) == 0 {
		t.Fatal("the trace has no samples")
	}
	return tr
}

func TestRecorded(t *testing.T) {
	cpu := ofTrace(t, record(t, profiling.Options{}))
	for name, o := range map[string]profiling.Options{
		"cpu": {}, "wall": {Wall: true, WallBudget: 1}, "main module": {Modules: []string{profiling.ModuleMain}}, "all spans": {Spans: profiling.EverySpan},
	} {
		t.Run(name, func(t *testing.T) {
			tr := record(t, o)
			p := ofTrace(t, tr)
			if o.Wall {
				check(t, p)
			} else {
				check(t, p, cpu)
			}
			if values := sums(p); values[0] == 0 || values[1] == 0 {
				t.Errorf("the sums are %v", values)
			}
		})
	}
}

func TestBuilt(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		b := perf.NewBuilder(nil)
		calls := make([]*perf.Call, 20)
		for i := range calls {
			calls[i] = &perf.Call{Name: fmt.Sprintf("f%d", i%15), File: []string{"", "/src/é \"x\".go"}[i%2], StartLine: i % 3, Line: i}
		}
		for i := range r.IntN(50) {
			context := perf.None
			if id := r.IntN(6); id > 0 {
				context = b.Context(id, func(any) perf.SampleContext {
					c := perf.SampleContext{Labels: []perf.Label{{Key: "job", Value: fmt.Sprint(id)}, {Key: "trace_id", Value: "the user's"}}}
					if id > 2 {
						c.TraceID, c.SpanID, c.SpanName = trace.TraceID{byte(id)}, trace.SpanID{byte(id)}, []string{"GET", "GET /", "é"}[id-3]
					}
					return c
				})
			}
			stack := make([]*perf.Call, r.IntN(8)*r.IntN(2))
			for k := range stack {
				stack[k] = calls[r.IntN(len(calls))]
			}
			b.Add(stack, perf.Sample{Timestamp: time.Duration(i), ContextID: context, Count: 1 + r.IntN(3), Weight: time.Duration(r.IntN(100))})
		}
		tr := b.Trace(nil)
		tr.Origin, tr.Interval, tr.Stopped = time.Unix(int64(seed), 0), 10*time.Millisecond, time.Second
		t.Run(fmt.Sprint(seed), func(t *testing.T) { check(t, ofTrace(t, tr)) })
	}
}

// TestTexts has samples whose labels and span have an empty name, or one that is not UTF-8.
func TestTexts(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "not UTF-8": "é\x00\xff"} {
		for _, where := range []string{"label", "span"} {
			t.Run(name+" "+where, func(t *testing.T) {
				b := perf.NewBuilder(nil)
				call := &perf.Call{Name: "f", File: "f.go", Line: 1}
				context := b.Context(1, func(any) perf.SampleContext {
					if where == "label" {
						return perf.SampleContext{Labels: []perf.Label{{Key: "job", Value: text}}}
					}
					return perf.SampleContext{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, SpanName: text}
				})
				b.Add([]*perf.Call{call}, perf.Sample{ContextID: context, Count: 1, Weight: 1})
				b.Add([]*perf.Call{call}, perf.Sample{ContextID: perf.None, Count: 1, Weight: 1})
				p := ofTrace(t, b.Trace(nil))
				check(t, p)
				for _, s := range p.Sample {
					for key, values := range s.Label {
						if !utf8.ValidString(values[0]) {
							t.Errorf("label %s is %q: a string of protobuf must be UTF-8", key, values[0])
						}
					}
				}
			})
		}
	}
}

// A server has the profiles that were pushed, by their types.
type server struct {
	mu       sync.Mutex
	profiles map[string][][]byte
}

func (s *server) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	for _, series := range fields(body, 1) {
		name := ""
		for _, label := range fields(series, 1) {
			if string(fields(label, 1)[0]) == "__name__" {
				name = string(fields(label, 2)[0])
			}
		}
		s.mu.Lock()
		for _, sample := range fields(series, 2) {
			s.profiles[name] = append(s.profiles[name], fields(sample, 1)...)
		}
		s.mu.Unlock()
	}
}

// fields returns the fields of a message with that number.
func fields(message []byte, number protowire.Number) (all [][]byte) {
	for len(message) > 0 {
		n, typ, size := protowire.ConsumeTag(message)
		value := message[size:]
		length := protowire.ConsumeFieldValue(n, typ, value)
		if n == number {
			body, _ := protowire.ConsumeBytes(value)
			all = append(all, body)
		}
		message = value[length:]
	}
	return all
}

func TestPushed(t *testing.T) {
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	s := &server{profiles: map[string][][]byte{}}
	h := httptest.NewServer(s)
	defer h.Close()
	pusher, err := pyroscope.Start(context.Background(), pyroscope.Config{ServerAddress: h.URL, ApplicationName: "shop", UploadInterval: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	for range 4 {
		group.Go(func() {
			for range 6 {
				mu.Lock()
				work(context.Background(), 100*time.Millisecond)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	runtime.GC()
	if err := pusher.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"process_cpu", "memory", "goroutines", "mutex", "block"} {
		t.Run(kind, func(t *testing.T) {
			if len(s.profiles[kind]) == 0 {
				t.Fatal("none was pushed")
			}
			first := parsedOf(t, s.profiles[kind][0])
			for _, data := range s.profiles[kind] {
				p := parsedOf(t, data)
				if plain := written(t, p); !bytes.Equal(written(t, parsedOf(t, plain)), plain) {
					t.Error("the profile changes when it is read and written")
				}
				check(t, p, first)
			}
		})
	}
}
