package timeline_test

import (
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

// Every entry reaches an observer once, in its goroutine's order, whatever
// others do to the timeline meanwhile.
func TestConcurrentRecording(t *testing.T) {
	const writers, each = 8, 2000
	tl := observer.NewTimeline(observer.TimelineOptions{Interval: 100 * time.Microsecond})
	child := tl.NewChild()
	next := map[int64]int64{}
	if _, err := tl.Observe(func(l observer.List) {
		for _, e := range l.Entries() {
			var w, n int64
			for _, a := range e.Detail() {
				if a.Key == "w" {
					w = a.Value.Int64()
				} else {
					n = a.Value.Int64()
				}
			}
			if n != next[w] {
				t.Errorf("goroutine %d: entry %d came, want %d", w, n, next[w])
			}
			next[w] = n + 1
		}
	}, observer.Options{Types: []observer.Type{observer.Mark}, MaxBuffer: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var others, all sync.WaitGroup
	for _, on := range []*observer.Timeline{tl, child} {
		spawn(&others, func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				on.Entries(observer.Filter{Type: observer.Mark})
				rec(on).Latest("m")
				rec(on).Clear(record.Mark, "nobody")
				obs, err := on.Observe(func(observer.List) {}, observer.Options{Type: observer.Measure, Buffered: true})
				if err != nil {
					t.Error(err)
					return
				}
				obs.TakeRecords()
				obs.Disconnect()
				on.Stats()
			}
		})
	}
	for w := range writers {
		on := tl
		if w%2 == 1 {
			on = child
		}
		spawn(&all, func() {
			for n := range each {
				for !rec(on).Record(record.Mark, "m", on.Now(), 0, []slog.Attr{slog.Int("w", w), slog.Int("n", n)}) {
					rec(tl).Flush() // the readers hold the collector up: make room
				}
			}
		})
	}
	all.Wait()
	close(stop)
	others.Wait()
	tl.Deliver()
	for w := range int64(writers) {
		if next[w] != each {
			t.Errorf("goroutine %d: %d entries came, want %d", w, next[w], each)
		}
	}
	if s := tl.Stats()[observer.Mark]; s.Recorded != writers*each || s.Delivered != s.Recorded {
		t.Errorf("stats are %+v, want %d recorded and delivered", s, writers*each)
	}
}

// Random operations give what a simple sequential model gives.
func TestAgainstModel_UT14_UT15_UT21_UT22(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 6).Draw(t, "limit")
		tl := newManual(func(o *observer.TimelineOptions) { o.BufferSize = limit })
		type entry struct {
			typ  observer.Type
			name string
			id   int
		}
		var buffer, pending, delivered, got []entry
		latest := map[string]int{}
		var obs *observer.Observer
		registered := false
		id := 0
		toModel := func(e observer.Entry) entry {
			return entry{e.Type(), e.Name(), int(e.StartTime())}
		}
		obs, err := tl.Observe(func(l observer.List) {
			for _, e := range l.Entries() {
				got = append(got, toModel(e))
			}
		}, both)
		if err != nil {
			t.Fatal(err)
		}
		registered = true
		draw := rapid.SampledFrom([]string{"a", "b"})
		count := func(typ observer.Type) (n int) {
			for _, e := range buffer {
				if e.typ == typ {
					n++
				}
			}
			return n
		}
		add := func(typ observer.Type) {
			id++
			e := entry{typ, draw.Draw(t, "name"), id}
			rec(tl.Timeline).Record(record.Type(typ), e.name, time.Duration(id), 0, nil)
			if count(typ) < limit {
				buffer = append(buffer, e)
			}
			if typ == observer.Mark {
				latest[e.name] = id
			}
			if registered {
				pending = append(pending, e)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"mark":    func(*rapid.T) { add(observer.Mark) },
			"measure": func(*rapid.T) { add(observer.Measure) },
			"clear": func(t *rapid.T) {
				name := draw.Draw(t, "name")
				rec(tl.Timeline).Clear(record.Mark, name)
				rest := buffer[:0:0]
				for _, e := range buffer {
					if e.typ != observer.Mark || e.name != name {
						rest = append(rest, e)
					}
				}
				buffer = rest
				delete(latest, name)
			},
			"run": func(*rapid.T) {
				tl.run()
				delivered, pending = append(delivered, pending...), nil
			},
			"take": func(t *rapid.T) {
				var taken []entry
				for _, e := range obs.TakeRecords() {
					taken = append(taken, toModel(e))
				}
				if fmt.Sprint(taken) != fmt.Sprint(pending) {
					t.Fatalf("TakeRecords gave %v, want %v", taken, pending)
				}
				pending = nil
			},
			"disconnect": func(*rapid.T) {
				obs.Disconnect()
				registered, pending = false, nil
			},
			"observe": func(t *rapid.T) {
				if err := obs.Observe(both); err != nil {
					t.Fatal(err)
				}
				registered = true
			},
			"": func(t *rapid.T) {
				var have []entry
				for _, e := range tl.Entries() {
					have = append(have, toModel(e))
				}
				if fmt.Sprint(have) != fmt.Sprint(buffer) {
					t.Fatalf("Entries are %v, want %v", have, buffer)
				}
				if fmt.Sprint(got) != fmt.Sprint(delivered) {
					t.Fatalf("delivered %v, want %v", got, delivered)
				}
				for _, name := range []string{"a", "b"} {
					at, ok := rec(tl.Timeline).Latest(name)
					if want, known := latest[name]; ok != known || ok && int(at) != want {
						t.Fatalf("Latest(%q) is %v, %v, want %v, %v", name, at, ok, want, known)
					}
				}
			},
		})
	})
}
