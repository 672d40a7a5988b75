package analysis_test

import (
	"bytes"
	"errors"
	"io"
	"strings"

	xtrace "golang.org/x/exp/trace"
)

// events calls f for each event of a trace.
func events(j judge, data []byte, f func(*xtrace.Event)) {
	j.Helper()
	r, err := xtrace.NewReader(bytes.NewReader(data))
	if err != nil {
		j.Fatalf("%v", err)
	}
	for {
		event, err := r.ReadEvent()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			j.Fatalf("%v", err)
		}
		f(&event)
	}
}

// assists counts how often the goroutine begins to help the collector.
func assists(j judge, data []byte, goroutine uint64) (n int) {
	j.Helper()
	events(j, data, func(event *xtrace.Event) {
		if event.Kind() == xtrace.EventRangeBegin && event.Range().Name == "GC mark assist" && uint64(event.Goroutine()) == goroutine {
			n++
		}
	})
	return n
}

// waitsFor reports whether a goroutine begins to wait for a reason.
func waitsFor(j judge, data []byte, reason string) (waits bool) {
	j.Helper()
	events(j, data, func(event *xtrace.Event) {
		waits = waits || event.Kind() == xtrace.EventStateTransition && event.StateTransition().Reason == reason
	})
	return waits
}

// machinePath returns a path of the machine that recorded the trace, or "".
func machinePath(j judge, data []byte) (path string) {
	j.Helper()
	see := func(stack xtrace.Stack) {
		for frame := range stack.Frames() {
			if strings.HasPrefix(frame.File, "/") {
				path = frame.File
			}
		}
	}
	events(j, data, func(event *xtrace.Event) {
		see(event.Stack())
		if event.Kind() == xtrace.EventStateTransition {
			transition := event.StateTransition()
			see(transition.Stack)
		}
	})
	return path
}
