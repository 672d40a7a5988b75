package trace

import (
	"context"
	"runtime"
	"sync"
	"weak"

	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
)

// A Substitution is what a provider was made with.
type Substitution struct {
	Processors            []SpanProcessor
	Sampler               Sampler
	IDs                   IDGenerator
	Limits                SpanLimits
	Resource              *resource.Resource
	WithoutPanicRecording bool
}

// Substituted is a provider in place of the SDK's.
type Substituted interface {
	Tracer(string, ...trace.TracerOption) trace.Tracer
	RegisterSpanProcessor(SpanProcessor)
	UnregisterSpanProcessor(SpanProcessor)
	ForceFlush(context.Context) error
	Shutdown(context.Context) error
}

// Substitute makes providers in place of the SDK's. nil: the SDK's count.
var Substitute func(Substitution) Substituted

var substitutes sync.Map // of Substituted, by weak pointers to providers

func (p *TracerProvider) makeSubstitute(c tracerProviderConfig) {
	if Substitute == nil {
		return
	}
	key := weak.Make(p)
	substitutes.Store(key, Substitute(Substitution{c.processors, c.sampler, c.idGenerator, c.spanLimits, c.resource, c.panicRecordingDisabled}))
	runtime.AddCleanup(p, func(key weak.Pointer[TracerProvider]) { substitutes.Delete(key) }, key)
}

func (p *TracerProvider) substitute() Substituted {
	s, _ := substitutes.Load(weak.Make(p))
	found, _ := s.(Substituted)
	return found
}

var handOvers struct {
	mu  sync.Mutex
	all []func()
}

// OnRead adds a function that HandOverEnded calls.
func OnRead(f func()) {
	handOvers.mu.Lock()
	defer handOvers.mu.Unlock()
	handOvers.all = append(handOvers.all, f)
}

// HandOverEnded lets the providers hand over the spans that have ended, as readers of perfline's own outputs do.
func HandOverEnded() {
	handOvers.mu.Lock()
	all := handOvers.all
	handOvers.mu.Unlock()
	for _, f := range all {
		f()
	}
}

// ExporterOf returns the exporter of one of the SDK's own processors, and nil for another processor.
func ExporterOf(p SpanProcessor) SpanExporter {
	switch p := p.(type) {
	case *simpleSpanProcessor:
		return p.exporter
	case *batchSpanProcessor:
		return p.e
	default:
		return nil
	}
}

// DefaultIDs returns the generator that providers have by default.
func DefaultIDs() IDGenerator { return defaultIDGenerator() }
