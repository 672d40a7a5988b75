//go:build !race

// The race detector allocates itself.

package exporter_test

import (
	"context"
	"testing"

	"github.com/perfline/perfline/exporter"
)

// A span is one allocation. A flush and a request have a few more.
func TestAllocDelivery(t *testing.T) {
	d, err := exporter.New(exporter.Config{Sender: senderFunc(func(context.Context, []byte) exporter.Answer { return exporter.Answer{} })})
	if err != nil {
		t.Fatal(err)
	}
	const spans, most = 2048, 2048 + 60 // four requests
	n := testing.AllocsPerRun(100, func() {
		end(d, spans)
		if err := d.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if n > most {
		t.Errorf("%v allocations for %d spans, want %d or fewer", n, spans, most)
	}
	if err := d.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if s := d.Stats(); s.Dropped > 0 || s.Delivered != s.Accepted {
		t.Errorf("the books: %+v", s)
	}
}
