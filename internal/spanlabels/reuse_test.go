//go:build !perfline_portable

package spanlabels_test

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/internal/spanlabels"
)

// A span that began on a goroutine that is gone ends on another one, which the runtime may
// have given the g of the first. It must not get labels that it never had.
func TestEndOnAGoroutineThatCameLater(t *testing.T) {
	on(t)
	wrong := 0
	for range 1000 {
		began := make(chan *spanlabels.Span)
		go func() {
			label("app", "shop")
			began <- begin(1)
			runtime.Goexit()
		}()
		s := <-began
		runtime.Gosched() // let it exit
		ended := make(chan unsafe.Pointer)
		go func() {
			goruntime.SetLabels(nil)
			s.End("")
			ended <- spanlabels.Tag()
		}()
		if <-ended != nil {
			wrong++
		}
	}
	if wrong > 0 {
		t.Errorf("%d of 1000 goroutines got labels of one that was gone", wrong)
	}
}
