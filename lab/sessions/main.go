// Command sessions records a million entries in a profiling session. It prints their memory, the
// time of putting them together, and the time of answers to queries:
//
//	go run -C lab ./sessions
//
// Entries have no samples with them. A row is of one session, and of one run.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/lab/internal/figures"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/sessions"
)

func main() {
	events := flag.Int("events", 1_000_000, "entries of a session, at least 10 000")
	only := flag.String("only", "", "the one shape to do: flat, nested, requests or concurrent")
	figuresInto := flag.String("figures", "",
		"also add results to this `file` of figures, for the laboratory's table")
	flag.Parse()
	if err := run(*events, *only, *figuresInto); err != nil {
		fmt.Fprintln(os.Stderr, "sessions:", err)
		os.Exit(1)
	}
}

// A shape is what a session's entries look like. record records n of them, and calls settle after
// every few thousand, so that none are lost.
type shape struct {
	name   string
	record func(tl *observer.Timeline, n int, settle func())
}

var shapes = []shape{{"flat", flat}, {"nested", nested}, {"requests", requests},
	{"concurrent", concurrent}}

func run(events int, only, figuresInto string) error {
	if events < 10_000 {
		return fmt.Errorf("-events %d: must be at least 10000", events)
	}
	chosen := slices.DeleteFunc(slices.Clone(shapes),
		func(s shape) bool { return only != "" && s.name != only })
	if len(chosen) == 0 {
		return fmt.Errorf("-only %q: must be flat, nested, requests or concurrent", only)
	}
	fmt.Printf("%s, %s/%s, %d processors\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH,
		runtime.NumCPU())
	fmt.Println("flat: measures of one span each, one after the other, in one request. nested: as many, 100 deep. requests: 10 000")
	fmt.Println("requests with their part each. concurrent: 1000 goroutines at the same time, in the process's frame.")
	fmt.Println()
	fmt.Println("| shape | entries | taken, a second | B an entry, recording | B an event, ready | put together | longest slice | timelines | first page | unique events | all as one |")
	fmt.Println("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
	for _, s := range chosen {
		if err := s.measure(events, figuresInto); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

func (s shape) measure(events int, figuresInto string) error {
	tl := observer.NewTimeline(observer.TimelineOptions{BufferSize: -1, ChildBufferSize: -1})
	recorder := sessions.NewRecorder(sessions.Config{Timeline: tl, MaxEvents: 2 * events})
	defer recorder.Close()
	ctx := context.Background()
	before := heap()
	id, err := recorder.Start(ctx, sessions.StartOptions{NoSamples: true})
	if err != nil {
		return err
	}
	began := time.Now()
	s.record(tl, events, tl.Deliver)
	tl.Deliver()
	took := time.Since(began)
	recording := heap() - before
	slices := watchProcessor()
	began = time.Now()
	session, err := recorder.Stop(ctx, id)
	if err != nil {
		return err
	}
	together := time.Since(began)
	longest := slices()
	ready := heap() - before
	stats := session.Stats()
	if n := int(stats.Entries); n < events || stats.Lost+stats.Dropped > 0 {
		return fmt.Errorf("of %d entries %d are there: %+v", events, n, stats)
	}
	biggest := session.Timelines()[0]
	for _, t := range session.Timelines() {
		if t.Events > biggest.Events {
			biggest = t
		}
	}
	query := func(all bool, q sessions.Query) (time.Duration, error) {
		began := time.Now()
		for _, t := range session.Timelines() {
			if q.Timeline = t.ID; !all && t.ID != biggest.ID {
				continue
			}
			if _, _, err := session.Events(ctx, q); err != nil {
				return 0, err
			}
		}
		return time.Since(began), nil
	}
	page, err := query(false, sessions.Query{Limit: 1000})
	if err != nil {
		return err
	}
	unique, err := query(true, sessions.Query{Mode: sessions.ReduceUniqueEvents})
	if err != nil {
		return err
	}
	one, err := query(true, sessions.Query{Mode: sessions.ReduceAll})
	if err != nil {
		return err
	}
	round := func(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
	fmt.Printf("| %s | %d | %.0f | %d | %d | %v | %v | %d | %v | %v | %v |\n", s.name,
		stats.Entries, float64(events)/took.Seconds(),
		recording/events, ready/int(stats.Events), round(together), round(longest),
		len(session.Timelines()), round(page), round(unique), round(one))
	runtime.KeepAlive(session)
	return figures.Add(figuresInto, "entries of the shape "+s.name+" that are taken, a second", "",
		fmt.Sprintf("%.0f", float64(events)/took.Seconds()), nil)
}

// heap is what is in use after a collection.
func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// watchProcessor has another goroutine share one processor with who calls, and tells how long that
// had to wait at most.
func watchProcessor() (longest func() time.Duration) {
	procs := runtime.GOMAXPROCS(1)
	over := make(chan struct{})
	var wg sync.WaitGroup
	var most time.Duration
	wg.Go(func() {
		last := time.Now()
		for {
			runtime.Gosched()
			now := time.Now()
			most = max(most, now.Sub(last))
			last = now
			select {
			case <-over:
				return
			default:
			}
		}
	})
	return func() time.Duration {
		close(over)
		wg.Wait()
		runtime.GOMAXPROCS(procs)
		return most
	}
}

func span(n int) record.ID {
	return record.ID{1, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
}

var names = [...]string{"query", "render", "encode", "lookup", "sign", "parse", "check", "write"}

// measure records span self of that time, under span parent.
func measure(tl *observer.Timeline, self, parent int, start, end time.Duration) {
	show(tl, record.SpanIDs{Trace: [16]byte{1}, Self: span(self), Parent: span(parent)},
		observer.Measure, names[self%len(names)], start, end)
}

func show(tl *observer.Timeline, ids record.SpanIDs, typ observer.Type, name string, start,
	end time.Duration) {
	(*record.Timeline)(tl).Show(ids,
		record.Description{Type: record.Type(typ), Name: name, Start: tl.Origin().Add(start),
			End: tl.Origin().Add(end)})
}

const settleEvery = 4096

func flat(tl *observer.Timeline, n int, settle func()) {
	child := tl.NewChild()
	for i := range n - 1 {
		at := child.Now()
		measure(child, i+2, 1, at, child.Now())
		if i%settleEvery == 0 {
			settle()
		}
	}
	show(child, record.SpanIDs{Trace: [16]byte{1}, Self: span(1)}, observer.Navigation, "/", 0,
		child.Now())
}

func nested(tl *observer.Timeline, n int, settle func()) {
	child := tl.NewChild()
	const depth = 100
	var starts [depth]time.Duration
	for i := 0; i+depth < n+depth; i += depth {
		for k := range starts {
			starts[k] = child.Now()
		}
		for k := depth - 1; k >= 0; k-- {
			parent := i + k + 1
			if k == 0 {
				parent = 1
			}
			measure(child, i+k+2, parent, starts[k], child.Now())
		}
		if i%(settleEvery/depth*depth) == 0 {
			settle()
		}
	}
	show(child, record.SpanIDs{Trace: [16]byte{1}, Self: span(1)}, observer.Navigation, "/", 0,
		child.Now())
}

func requests(tl *observer.Timeline, n int, settle func()) {
	const count = 10_000
	each := n / count
	for r := range count {
		child := tl.NewChild()
		root := r*each + 1
		for k := 1; k < each; k++ {
			at := child.Now()
			measure(child, root+k, root, at, child.Now())
		}
		show(child, record.SpanIDs{Trace: [16]byte{1}, Self: span(root)}, observer.Navigation, "/",
			0, child.Now())
		child.Close()
		if r%(settleEvery/each+1) == 0 {
			settle()
		}
	}
}

// concurrent has the goroutines' measures made by one, such that all overlap.
func concurrent(tl *observer.Timeline, n int, settle func()) {
	const goroutines = 1000
	each := n / goroutines
	began := tl.Now()
	for i := range each - 1 {
		for g := range goroutines {
			at := tl.Now() - time.Duration(g+1) // the measures of a round overlap
			measure(tl, goroutines+i*goroutines+g+1, g+1, at-time.Microsecond, at)
			if (i*goroutines+g)%settleEvery == 0 {
				settle()
			}
		}
	}
	for g := range goroutines {
		show(tl, record.SpanIDs{Trace: [16]byte{1}, Self: span(g + 1)}, observer.Measure, "worker",
			began+time.Duration(g), tl.Now())
	}
}
