package perfline

import (
	"context"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter/otlpenc"
	"github.com/perfline/perfline/exporter/requests"
)

// A recorder passes spans on to the requests in memory. With a *requests.Recent in an interface, the linker would keep all
// exported methods of it and of the types that these return. Programs that show no request link no waterfalls and no pictures.
type recorder struct {
	accept   func([]otlpenc.Spans)
	onRead   func(func())
	shutdown func(context.Context) error
}

var _ bridge.Output = (*recorder)(nil)

func newRecorder(r *requests.Recent) *recorder {
	return &recorder{accept: r.Accept, onRead: r.OnRead, shutdown: r.Shutdown}
}

// Accept implements [bridge.Output].
func (r *recorder) Accept(s []otlpenc.Spans) { r.accept(s) }

// OnRead registers a function that readers of the requests call first.
func (r *recorder) OnRead(f func()) { r.onRead(f) }

// ForceFlush does nothing: spans are in memory at once.
func (*recorder) ForceFlush(context.Context) error { return nil }

// Shutdown implements [bridge.Output].
func (r *recorder) Shutdown(ctx context.Context) error { return r.shutdown(ctx) }
