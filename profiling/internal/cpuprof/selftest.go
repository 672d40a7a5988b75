//go:build linux || darwin

package cpuprof

import (
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"time"
	"unsafe"

	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/profiling/internal/sampling"
)

// test sends the calling thread a signal and checks the signal's record in the log.
func (e *Engine) test(hz int, discard func(*sampling.Sample)) error {
	own := goruntime.Labels()
	defer goruntime.SetLabels(own)
	pprof.SetGoroutineLabels(
		pprof.WithLabels(context.Background(), pprof.Labels("perfline", "test")))
	labels := goruntime.Labels()

	e.nudged = record{}
	before := sampling.Now()
	if err := e.read(discard); err != nil {
		return err
	}
	after := sampling.Now()
	if e.decoder.hz != hz { // other code may have set the rate right before us
		return transient{fmt.Errorf("the buffer's rate is %d, not %d", e.decoder.hz, hz)}
	}
	return checkSent(e.nudged, labels, before, after)
}

// checkSent returns an error unless n is the record of a signal that a goroutine with these labels
// received between two times.
func checkSent(n record, labels unsafe.Pointer, before, after int64) error {
	switch {
	case n.count != 1:
		return errors.New("a signal that was sent is not in the buffer")
	case n.at < before || n.at > after:
		return fmt.Errorf("a signal sent between %d and %d is in the buffer at %d",
			before, after, n.at)
	case n.tag != labels:
		return errors.New("a signal's record does not have the labels of the goroutine that got it")
	}
	return nil
}

// testAnyThread is test for systems on which a signal can be sent only to the process. Any thread
// receives the signal, some time later, with unknown labels.
func (e *Engine) testAnyThread(hz int, discard func(*sampling.Sample)) error {
	before := sampling.Now()
	if err := e.cpu.Signal(); err != nil {
		return fmt.Errorf("sending SIGPROF: %w", err)
	}
	for {
		if err := e.read(discard); err != nil {
			return err
		}
		now := sampling.Now()
		switch at := e.decoder.last; {
		case e.decoder.hz != 0 && e.decoder.hz != hz: // set by other code right before us
			return transient{fmt.Errorf("the buffer's rate is %d, not %d", e.decoder.hz, hz)}
		case at > now:
			return fmt.Errorf("the buffer has a sample of %d, after the present, %d", at, now)
		case at >= before:
			return nil
		case now-before > int64(overdue): // the process may have been stopped
			return transient{fmt.Errorf("no signal within %v", overdue)}
		}
		time.Sleep(time.Millisecond)
	}
}
