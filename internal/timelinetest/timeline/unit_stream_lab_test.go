//go:build lab

package timeline_test

import (
	"runtime"
	"testing"

	"github.com/perfline/perfline/observer"
)

// The heap has little more for open spans and their marks and measures than the journals count.
func TestLabMarksOnOpenSpans(t *testing.T) { marksOnOpenSpans(t, 200_000, heap) }

func TestLabMeasuresUnderAnOpenSpan(t *testing.T) { measuresUnderAnOpenSpan(t, 1_000_000, heap) }

// heap returns the bytes in use, without what the garbage collector can free.
func heap(*observer.Timeline) int {
	runtime.GC()
	runtime.GC() // what pools have
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
