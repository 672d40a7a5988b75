package otlpenc_test

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/spanfuzz"
)

// The bytes say which spans there are. Their request is equal to the SDK's, and decodes to the same spans.
func FuzzSpan(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		r := newRandom(data)
		var spans []sdktrace.ReadOnlySpan
		for range 1 + r.Below(8) {
			spans = append(spans, r.span())
		}
		got, all := byUs(t, spans)
		spanfuzz.Equal(t, got, spanfuzz.BySDK(t, spans))
		for i, one := range all {
			decodesTo(t, one, spans[i], r.Repaired)
		}
		severalDecode(t, all)
	})
}

// The bytes say which spans a program makes with the SDK. These are read in place: their request is equal to the SDK's,
// and to the one of the same spans that are read by their methods.
func FuzzSDKSpan(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		r := newRandom(data)
		spans := r.sdkSpans(t)
		got, all := byUs(t, spans)
		spanfuzz.Equal(t, got, spanfuzz.BySDK(t, spans))
		for i, one := range all {
			if want := encode(scoped{spans[i], spans[i].InstrumentationScope()}); !bytes.Equal(one.Bytes, want) {
				t.Errorf("read in place\n%x\nby its methods\n%x", one.Bytes, want)
			}
			decodesTo(t, one, spans[i], r.Repaired)
		}
	})
}

func addSeeds(f *testing.F) {
	f.Helper()
	f.Add([]byte{})
	source := rand.New(rand.NewPCG(1, 2))
	for n := range 40 {
		seed := make([]byte, 1+n*n*4)
		for i := range seed {
			seed[i] = byte(source.Uint32())
		}
		f.Add(seed)
	}
}

// decodesTo compares the only span of one with the span that it was made of.
func decodesTo(t *testing.T, one otlpenc.Spans, s sdktrace.ReadOnlySpan, repaired bool) {
	t.Helper()
	count := 0
	for decoded, err := range one.All() {
		if err != nil {
			t.Fatal(err)
		}
		count++
		again := encode(snapshot(t, decoded))
		if len(again) != len(one.Bytes) || !repaired && !bytes.Equal(again, one.Bytes) {
			t.Fatalf("decoded and encoded again\n%x\nwant\n%x\nof %+v", again, one.Bytes, decoded)
		}
		var h otlpenc.Header
		if n, err := one.First(&h); err != nil || h != decoded.Header || n != len(one.Bytes) {
			t.Errorf("header %v, %v, want %v", h, err, decoded.Header)
		}
		if n, err := reordered(t, one).First(&h); err != nil || h != decoded.Header || n == 0 {
			t.Errorf("header %v, %v of the fields in another order, want %v", h, err, decoded.Header)
		}
		sc := spanfuzz.AsSent(s).SpanContext()
		if decoded.TraceID != sc.TraceID() || decoded.SpanID != sc.SpanID() || decoded.ParentID != s.Parent().SpanID() ||
			decoded.Remote != s.Parent().IsRemote() || decoded.TraceFlags != sc.TraceFlags() ||
			decoded.End.UnixNano() != max(0, s.EndTime().UnixNano()) || decoded.TraceState != sc.TraceState().String() {
			t.Errorf("decoded %+v, want %+v", decoded, s)
		}
	}
	if count != 1 {
		t.Errorf("%d spans, want 1", count)
	}
}

// reordered returns spans as protobuf encodes them: in the order of the fields' numbers.
func reordered(t *testing.T, s otlpenc.Spans) otlpenc.Spans {
	t.Helper()
	var scope tracepb.ScopeSpans
	if err := proto.Unmarshal(s.Bytes, &scope); err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(&scope)
	if err != nil {
		t.Fatal(err)
	}
	return otlpenc.NewSpans(s.Group(), b, s.Count)
}

func severalDecode(t *testing.T, all []otlpenc.Spans) {
	t.Helper()
	joined := otlpenc.NewSpans(all[0].Group(), nil, len(all))
	for _, one := range all {
		joined.Bytes = append(joined.Bytes, one.Bytes...)
	}
	count := 0
	for _, err := range joined.All() {
		if err != nil {
			t.Error(err)
		}
		count++
	}
	if count != joined.Count {
		t.Errorf("%d spans, want %d", count, joined.Count)
	}
}

// Any bytes decode to spans or to an error, with memory in proportion to their number. Spans that protobuf
// can decode are no error, unless an id has a wrong length or a value is nested too deep.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{})
	for _, s := range request(f) {
		f.Add(encode(s))
	}
	source := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		seed := make([]byte, 1000)
		for i := range seed {
			seed[i] = byte(source.Uint32())
		}
		f.Add(encode(newRandom(seed).span()))
	}
	var groups otlpenc.Groups
	group := groupOf(&groups, request(f)[0])
	f.Fuzz(func(t *testing.T, data []byte) {
		spans := otlpenc.NewSpans(group, data, 0)
		var failed error
		count, headers := 0, 0
		var h otlpenc.Header
		for rest := spans; len(rest.Bytes) > 0; headers++ {
			n, err := rest.First(&h)
			if err != nil {
				break
			}
			rest.Bytes = rest.Bytes[n:]
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for s, err := range spans.All() {
			if failed != nil {
				t.Fatalf("%+v, %v after an error", s, err)
			}
			if failed = err; err == nil {
				count++
			}
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 1<<16+500*uint64(len(data)) {
			t.Errorf("%d bytes to decode %d", used, len(data))
		}
		var scope tracepb.ScopeSpans
		err := proto.Unmarshal(data, &scope)
		switch {
		case failed == nil && headers != count:
			t.Errorf("%d headers of %d spans", headers, count)
		case failed == nil && err == nil && count != len(scope.GetSpans()):
			t.Errorf("%d spans, protobuf finds %d", count, len(scope.GetSpans()))
		case failed != nil && err == nil && !strings.Contains(failed.Error(), "bytes, want") && !strings.Contains(failed.Error(), "among spans") && !strings.Contains(failed.Error(), "within each other"):
			t.Errorf("%v, but protobuf decodes it", failed)
		case failed == nil && err != nil && !strings.Contains(err.Error(), "UTF-8"):
			t.Logf("%v, but it decodes", err) // in fields that are skipped
		}
	})
}
