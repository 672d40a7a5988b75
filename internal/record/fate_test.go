package record

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// A fateSpan is a span with an entry.
type fateSpan struct{ marks SpanMarks }

func (s *fateSpan) IDs() SpanIDs          { return SpanIDs{} }
func (s *fateSpan) Marks() *SpanMarks     { return &s.marks }
func (s *fateSpan) Size() int             { return 300 }
func (s *fateSpan) Describe() Description { return Description{Type: Measure, Name: "span"} }

// A fateReceiver keeps the spans that it gets.
type fateReceiver struct {
	mu    sync.Mutex // guards spans
	spans []Span
}

func (r *fateReceiver) MarkLimit() int         { return 128 }
func (r *fateReceiver) TakesMarks() MarksTaken { return NoMarks }

func (r *fateReceiver) HandOver(parts []*Finished) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range parts {
		for i := range f.Len() {
			if it := f.At(i); it != nil {
				r.spans = append(r.spans, it.Span)
			}
		}
	}
}

// The fate of a unit does not change while the lock is held: one call of EndSpan sees one fate. Else a span of a unit that is being discarded
// would be handed over.
func TestFateChangesUnderLock(t *testing.T) {
	root := &fateSpan{}
	for name, end := range map[string]func(*Unit){
		"End":     func(u *Unit) { u.End(root) },
		"Export":  func(u *Unit) { u.Export(root) },
		"Discard": func(u *Unit) { u.Discard(root) },
		"Close":   func(u *Unit) { u.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			tl := NewTimeline(TimelineOptions{})
			for fate, undecided := range map[uint32]bool{fateOpen: false, fateUndecided: true} {
				var u Unit
				tl.InitUnit(&u, time.Now(), &fateReceiver{}, undecided)
				u.mu.Lock()
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					end(&u)
				}()
				awaitLock("record.(*Unit)." + name)
				if is := u.fate.Load(); is != fate {
					t.Errorf("while the lock is held, the fate changed from %d to %d", fate, is)
				}
				u.mu.Unlock()
				<-ended
				if !u.hasEnded() {
					t.Error("the unit has not ended")
				}
			}
		})
	}
}

// awaitLock returns when a goroutine that runs a function waits for a lock.
func awaitLock(function string) {
	all := make([]byte, 1<<20)
	for {
		for stack := range strings.SplitSeq(string(all[:runtime.Stack(all, true)]), "\n\n") {
			first, calls, _ := strings.Cut(stack, "\n")
			if strings.Contains(first, "[sync.Mutex.Lock") && strings.Contains(calls, function+"(") {
				return
			}
		}
		time.Sleep(time.Millisecond)
	}
}

// A hand-over in the middle of Discard does not hand over what the unit has: observers of the unit are disconnected without its lock.
func TestHandOverWhileDiscarding(t *testing.T) {
	for name, handOver := range map[string]func(*Timeline, Receiver){
		"flush":   func(tl *Timeline, _ Receiver) { _ = tl.FlushUnits(context.Background()) },
		"sweep":   func(tl *Timeline, _ Receiver) { tl.root.units.sweep(); tl.root.units.sweep() },
		"abandon": func(tl *Timeline, r Receiver) { tl.AbandonUnits(r) },
	} {
		t.Run(name, func(t *testing.T) {
			tl, r, root := NewTimeline(TimelineOptions{}), &fateReceiver{}, &fateSpan{}
			var u Unit
			tl.InitUnit(&u, time.Now(), r, true)
			if err := u.NewObserver(func(Batch) {}).Register(Registration{Types: []Type{Mark}}); err != nil {
				t.Fatal(err)
			}
			u.EndSpan(&fateSpan{}, Measure, nil)
			tl.root.mu.Lock() // Discard needs it for the observer
			discarded := make(chan struct{})
			go func() {
				defer close(discarded)
				u.Discard(root)
			}()
			for !u.Discarded() {
				time.Sleep(time.Millisecond)
			}
			handOver(tl, r)
			tl.root.unlock()
			<-discarded
			_ = tl.FlushUnits(context.Background())
			if len(r.spans) != 0 {
				t.Errorf("%d spans were handed over, want none", len(r.spans))
			}
			if s := tl.UnitStats(); s.Waiting != 0 || s.WaitingBytes != 0 {
				t.Errorf("%d units wait with %d bytes", s.Waiting, s.WaitingBytes)
			}
		})
	}
}
