package analysis

import (
	"errors"
	"fmt"
	"io"

	xtrace "golang.org/x/exp/trace"
)

// A source decodes a trace.
type source struct {
	r       io.ReadSeeker
	caller  func() // may be nil
	pausing bool   // during a call of caller
	unread  int    // bytes before the next pause
}

func (s *source) pause() {
	if s.caller != nil {
		s.pausing = true
		s.caller()
		s.pausing = false
	}
}

// recoverError converts a panic of the decoder to an error: the decoder does not check all its
// tables. A panic of the caller, in pause, passes.
func (s *source) recoverError(err *error) {
	if s.pausing {
		return
	}
	if e := recover(); e != nil {
		*err = fmt.Errorf("malformed execution trace: %v", e)
	}
}

var errEmpty = errors.New("the execution trace has no complete generation")

// eventsPerPause is a number of events that take less than a millisecond.
const eventsPerPause = 1000

func (s *source) decoder() (decoder *xtrace.Reader, err error) {
	defer s.recoverError(&err)
	return xtrace.NewReader(s)
}

func (s *source) next(decoder *xtrace.Reader, event *xtrace.Event) (err error) {
	defer s.recoverError(&err)
	*event, err = decoder.ReadEvent()
	return err
}

// events calls f for each event of the trace, from the beginning.
func (s *source) events(f func(*xtrace.Event)) error {
	if _, err := s.r.Seek(0, io.SeekStart); err != nil {
		return err
	}
	decoder, err := s.decoder()
	if err != nil {
		return err
	}
	complete := false
	var event xtrace.Event // reused: an event is large, and escapes
	for n := 1; ; n++ {
		if n%eventsPerPause == 0 {
			s.pause()
		}
		if err = s.next(decoder, &event); err != nil {
			break
		}
		complete = complete || event.Kind() != xtrace.EventSync
		f(&event)
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	if !complete { // for the decoder, a cut in the first batch is the end
		return errEmpty
	}
	return nil
}

// bytesPerPause is a number of bytes that take less than a millisecond. The decoder reads all
// batches of a generation before the first event.
const bytesPerPause = 64 << 10

// Read implements io.Reader for the decoder. Read calls pause before each 64 KiB.
func (s *source) Read(p []byte) (int, error) {
	if s.unread <= 0 {
		s.unread = bytesPerPause
		s.pause()
	}
	n, err := s.r.Read(p)
	s.unread -= n
	return n, err
}
