//go:build !race

package otlpprofiles

import (
	"bytes"
	"compress/gzip"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"

	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/internal/continuous"
)

// zipped returns the length of b in gzip's format.
func zipped(b []byte) float64 {
	var to bytes.Buffer
	w := gzip.NewWriter(&to)
	_, _ = w.Write(b)
	_ = w.Close()
	return float64(to.Len())
}

// The encoder against the generated messages of the same profile: their marshalling alone, and with making them, which is
// unmarshalling here.
func BenchmarkCPUProfile(b *testing.B) {
	c, e := busy(), newEncoder(shop(), thisProgram())
	var body []byte
	e.cpu(c, func(r request) { body = r.body })
	b.Run("encoder", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			e.cpu(c, func(request) {})
		}
		b.ReportMetric(float64(len(body)), "B")
		b.ReportMetric(zipped(body), "gzip-B")
	})
	b.Run("messages", func(b *testing.B) {
		m := &profilespb.ProfilesData{}
		if err := proto.Unmarshal(body, m); err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := proto.Marshal(m); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("messages that are made", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m := &profilespb.ProfilesData{}
			if err := proto.Unmarshal(body, m); err != nil {
				b.Fatal(err)
			}
			if _, err := proto.Marshal(m); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("pprof", func(b *testing.B) { // as it goes to Pyroscope
		b.ReportAllocs()
		var plain bytes.Buffer
		for b.Loop() {
			p, err := c.Trace.Pprof()
			if err != nil {
				b.Fatal(err)
			}
			plain.Reset()
			if err := p.WriteUncompressed(&plain); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(plain.Len()), "B")
		b.ReportMetric(zipped(plain.Bytes()), "gzip-B")
	})
}

// A profile of this process's heap.
func BenchmarkHeapProfile(b *testing.B) {
	runtime.GC()
	var data bytes.Buffer
	if err := pprof.Lookup("heap").WriteTo(&data, 0); err != nil {
		b.Fatal(err)
	}
	r := continuous.Runtime{Kind: continuous.Heap, Data: data.Bytes(), Since: time.Unix(1, 0), Taken: time.Unix(2, 0)}
	e := newEncoder(shop(), thisProgram())
	b.ReportAllocs()
	var body []byte
	for b.Loop() {
		if err := e.runtime(r, func(r request) { body = r.body }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(body)), "B")
	b.ReportMetric(zipped(body), "gzip-B")
	b.ReportMetric(float64(len(r.Data)), "pprof-gzip-B")
}
