// Command load records far more than anybody takes, and shows that nothing
// blocks, that memory is bounded and that every entry is accounted for:
//
//	go run -C lab ./load
//
// Its second part reads a full timeline in a loop while others record, and
// compares the time that recording takes with and without the reader.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/lab/internal/figures"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

func main() {
	length := flag.Duration("for", 10*time.Second, "record that long")
	rate := flag.Int("rate", 1_000_000, "entries a second, of all goroutines together")
	goroutines := flag.Int("goroutines", 8, "goroutines that record")
	figuresInto := flag.String("figures", "",
		"also add results to this `file` of figures, for the laboratory's table")
	flag.Parse()
	if err := run(*length, *rate, *goroutines, *figuresInto); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(length time.Duration, rate, goroutines int, figuresInto string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if length <= 0 || rate < 1000*goroutines || goroutines < 1 {
		return fmt.Errorf("-for %v -rate %d -goroutines %d: all must be positive, and the rate at least 1000 for each goroutine", length, rate, goroutines)
	}
	if err := sleepyObserver(ctx, length, rate, goroutines, figuresInto); err != nil {
		return err
	}
	return reader(ctx, length/2)
}

// sleepyObserver records at the given rate under an observer that sleeps.
func sleepyObserver(ctx context.Context, length time.Duration, rate, goroutines int,
	figuresInto string) error {
	tl := observer.NewTimeline(observer.TimelineOptions{})
	delivered := map[observer.Type]uint64{}
	obs, err := tl.Observe(func(l observer.List) {
		for _, e := range l.Entries() {
			delivered[e.Type()]++
		}
		time.Sleep(100 * time.Millisecond)
	}, observer.Options{Types: []observer.Type{observer.Mark, observer.Measure}})
	if err != nil {
		return err
	}
	runtime.GC()
	watch := watchMemory()
	slot := time.Millisecond
	each := rate / goroutines / int(time.Second/slot)
	const timedEvery = 17 // calls: marks and measures, in their proportion
	fmt.Printf("%d goroutines, %d entries a second in all, for %v; one observer that sleeps 100 ms in each call\n",
		goroutines, each*goroutines*int(time.Second/slot), length)
	made := map[observer.Type]*atomic.Uint64{observer.Mark: {}, observer.Measure: {}}
	var latencies calls
	begin := time.Now()
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			rctx := observer.NewContext(context.Background(), tl)
			mine := make([]time.Duration, 0, int(length/slot)*(each/timedEvery+1))
			marked, measured := uint64(0), uint64(0)
			for next := begin; next.Before(begin.Add(length)) &&
				ctx.Err() == nil; next = next.Add(slot) {
				time.Sleep(time.Until(next))
				for i := range each {
					timed := i%timedEvery == 0
					var from time.Time
					if timed {
						from = time.Now()
					}
					if i%4 == 3 {
						marks.Time(rctx, "work", slog.Int("n", i)).End()
						measured++
					} else {
						marks.Mark(rctx, "event", slog.String("k", "v"), slog.Int("n", i))
						marked++
					}
					if timed {
						mine = append(mine, time.Since(from))
					}
				}
			}
			made[observer.Mark].Add(marked)
			made[observer.Measure].Add(measured)
			latencies.add(mine)
		})
	}
	wg.Wait()
	took := time.Since(begin)
	tl.Deliver() // what the observer still holds
	obs.Disconnect()
	peak := watch()
	stats := tl.Stats()

	fmt.Printf("\n%-8s %10s %10s %10s %10s %14s %12s\n", "type", "made", "recorded", "overflow",
		"delivered", "observer full", "buffer full")
	var wrong error
	for _, typ := range []observer.Type{observer.Mark, observer.Measure} {
		n, s := made[typ].Load(), stats[typ]
		fmt.Printf("%-8s %10d %10d %10d %10d %14d %12d\n", typ, n, s.Recorded, s.Overflow,
			s.Delivered, s.ObserverFull, s.BufferFull)
		if n != s.Recorded+s.Overflow || s.Recorded != s.Delivered+s.ObserverFull ||
			s.Delivered != delivered[typ] {
			wrong = errors.Join(wrong,
				fmt.Errorf("%s: the counts do not add up: %d reached the callback", typ,
					delivered[typ]))
		}
	}
	fmt.Printf("\nmade = recorded + overflow, recorded = delivered + observer full, for each type: %v\n", wrong == nil)
	total := made[observer.Mark].Load() + made[observer.Measure].Load()
	fmt.Printf("rate reached: %.0f entries/s; peak heap %.1f MiB, peak of the process's memory %.1f MiB, both with %.1f MiB of this program's measurements\n",
		float64(total)/took.Seconds(), mib(peak.heap), mib(peak.all),
		mib(uint64(8*cap(latencies.took)*2)))
	fmt.Printf("time of a call, three marks to one Time…End, %s\n\n", latencies.summary())
	met := wrong == nil
	return errors.Join(wrong,
		figures.Add(figuresInto, "entries whose counts add up, a second", "all",
			fmt.Sprintf("%.0f", float64(total)/took.Seconds()), &met))
}

// reader measures recording on a timeline of 100 000 entries, with and without a
// goroutine that reads all of it in every way. Reading takes a processor and makes
// garbage in any case. Reading a timeline without writers shows how much of the
// difference this is.
func reader(ctx context.Context, length time.Duration) error {
	const entries = 100_000
	tl, err := full(entries)
	if err != nil {
		return err
	}
	other, err := full(entries)
	if err != nil {
		return err
	}
	fmt.Printf("a timeline that holds %d entries and is full; a goroutine records 100 000 marks a second, for %v each\n", entries, length)
	for _, c := range []struct {
		label string
		read  *observer.Timeline
	}{{"nobody reads", nil}, {"another timeline is read", other}, {"it is read", tl}} {
		latencies, reads := writeWhileReading(ctx, tl, c.read, length)
		fmt.Printf("%-25s %s; %d readings\n", c.label+":", latencies, reads)
	}
	return ctx.Err()
}

func full(entries int) (*observer.Timeline, error) {
	tl := observer.NewTimeline(observer.TimelineOptions{BufferSize: entries})
	for i := range entries {
		for !(*record.Timeline)(tl).Record(record.Mark, fmt.Sprint("mark ", i%100), tl.Now(), 0,
			nil) {
			(*record.Timeline)(tl).Flush()
		}
	}
	if n := len(tl.Entries()); n != entries {
		return nil, fmt.Errorf("the timeline holds %d entries, want %d", n, entries)
	}
	return tl, nil
}

// writeWhileReading marks on tl while another goroutine reads read, unless it is
// nil, and returns how long the marks took and how often all was read.
func writeWhileReading(ctx context.Context, tl, read *observer.Timeline,
	length time.Duration) (latencies string, reads int) {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	if read != nil {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				read.Entries()
				read.EntriesByName("mark 7")
				read.EntriesByType(observer.Mark)
				read.Entries(observer.Filter{Name: "mark 9", Type: observer.Mark},
					observer.Filter{InitiatorType: "none"})
				reads += 4
			}
		})
	}
	rctx := observer.NewContext(context.Background(), tl)
	var took []time.Duration
	for begin, next := time.Now(), time.Now(); next.Before(begin.Add(length)) &&
		ctx.Err() == nil; next = next.Add(time.Millisecond) {
		time.Sleep(time.Until(next))
		for i := range 100 {
			from := time.Now()
			marks.Mark(rctx, "event", slog.Int("n", i))
			took = append(took, time.Since(from))
		}
	}
	close(stop)
	wg.Wait()
	var all calls
	all.add(took)
	return all.summary(), reads
}

// calls collects how long calls took.
type calls struct {
	mu   sync.Mutex // guards took
	took []time.Duration
}

func (c *calls) add(took []time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.took = append(c.took, took...)
}

func (c *calls) summary() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.Sort(c.took)
	if len(c.took) == 0 {
		return "none"
	}
	at := func(q float64) time.Duration { return c.took[int(q*float64(len(c.took)-1))] }
	return fmt.Sprintf("of %d measured: p50 %v, p99 %v, p99.9 %v, max %v", len(c.took), at(0.5),
		at(0.99), at(0.999), at(1))
}

type memory struct{ heap, all uint64 }

// watchMemory looks at the memory in use until the function returned is called,
// which returns the peaks.
func watchMemory() func() memory {
	var peak memory
	stop := make(chan struct{})
	done := make(chan struct{})
	look := func() {
		s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"},
			{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		metrics.Read(s)
		peak.heap = max(peak.heap, s[0].Value.Uint64())
		peak.all = max(peak.all, s[1].Value.Uint64()-s[2].Value.Uint64())
	}
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				look()
			}
		}
	}()
	return func() memory {
		close(stop)
		<-done
		look()
		return peak
	}
}

func mib(bytes uint64) float64 { return float64(bytes) / (1 << 20) }
