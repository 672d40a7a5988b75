package analysis

import (
	"errors"
	"fmt"
	"io"
	"time"

	"go.opentelemetry.io/otel/trace"
	xtrace "golang.org/x/exp/trace"

	"github.com/perfline/perfline/profiling/states"
)

// A Root is a local root span whose request is wanted.
type Root struct {
	TraceID trace.TraceID
	SpanID  trace.SpanID

	// Duration is how long the root took. It may be zero. It is used only for a root that started before the execution
	// trace did, for the gap between the two.
	Duration time.Duration
}

// Read reads the execution trace r from its beginning, and returns the requests of the wanted roots, in the order of wanted.
// Roots of which the trace has neither start nor end are left out.
//
// An error says that the trace is malformed, or cut. The requests are valid then, too: a root whose end could not be read
// is Unended. A cut in the first bytes of a generation looks like the end, unless it is the first generation.
//
// Read calls pause, if it is not nil, at least once in every millisecond of its own work, so that the caller can sleep
// there.
func Read(r io.ReadSeeker, wanted []Root, pause func()) (requests []states.Request, err error) {
	if len(wanted) == 0 {
		return nil, nil
	}
	if pause == nil {
		pause = func() {}
	}
	windows, err := locate(r, wanted, pause)
	if len(windows) == 0 {
		return nil, err
	}
	a := newAnalyzer(wanted, windows, pause)
	// The second reading meets the same error at the same place.
	err = events(r, pause, a.event)
	defer recovered(&err)
	a.finish()
	return a.requests(), err
}

// recovered makes an error of a panic: the decoder panics where it does not check its tables.
func recovered(err *error) {
	if e := recover(); e != nil {
		*err = fmt.Errorf("malformed execution trace: %v", e)
	}
}

var errEmpty = errors.New("the execution trace has no complete generation")

// eventsPerPause are read in less than a millisecond.
const eventsPerPause = 2000

// events calls f for each event of the trace.
func events(r io.ReadSeeker, pause func(), f func(*xtrace.Event)) (err error) {
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return err
	}
	defer recovered(&err)
	decoder, err := xtrace.NewReader(&pausingReader{r: r, pause: pause})
	if err != nil {
		return err
	}
	complete := false
	var event xtrace.Event // one for all: it is large, and escapes
	for n := 1; ; n++ {
		if n%eventsPerPause == 0 {
			pause()
		}
		if event, err = decoder.ReadEvent(); err != nil {
			break
		}
		complete = complete || event.Kind() != xtrace.EventSync
		f(&event)
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	if !complete { // the decoder takes a cut within the first batch for the end
		return errEmpty
	}
	return nil
}

// bytesPerPause are decoded in less than a millisecond: of a generation of the trace, the decoder reads all batches before
// the first event.
const bytesPerPause = 128 << 10

// A pausingReader calls pause between reads.
type pausingReader struct {
	r     io.Reader
	n     int
	pause func()
}

func (r *pausingReader) Read(p []byte) (int, error) {
	if r.n >= bytesPerPause {
		r.n = 0
		r.pause()
	}
	n, err := r.r.Read(p)
	r.n += n
	return n, err
}
