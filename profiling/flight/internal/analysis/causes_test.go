package analysis_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	xtrace "golang.org/x/exp/trace"

	"github.com/perfline/perfline/profiling/states"
)

// long is how long a cause of a test lasts. Nothing else in a test takes so long.
const long = 20 * time.Millisecond

// blockedIn waits until a goroutine is blocked in the function.
func blockedIn(function string) { blockedTimes(function, 1) }

// blockedTimes waits until as many goroutines are blocked in the function.
func blockedTimes(function string, n int) {
	buffer := make([]byte, 1<<20)
	for {
		blocked := 0
		for goroutine := range strings.SplitSeq(string(buffer[:runtime.Stack(buffer, true)]), "\n\n") {
			state, _, _ := strings.Cut(goroutine, "\n")
			if strings.Contains(goroutine, function) && !strings.Contains(state, "[run") {
				blocked++
			}
		}
		if blocked >= n {
			return
		}
		runtime.Gosched()
	}
}

type index struct{ mu sync.Mutex }

//go:noinline
func (x *index) rebuild(locked chan<- bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	close(locked)
	blockedIn("index).lookUp")
	time.Sleep(long)
}

//go:noinline
func (x *index) lookUp() {
	x.mu.Lock()
	x.mu.Unlock() //nolint:staticcheck // the wait is the point
}

func TestMutexHeldByAnotherRequest(t *testing.T) {
	var r *request
	data := record(t, func() {
		var x index
		locked, done := make(chan bool), make(chan bool)
		go func() {
			do("GET /search", func() { x.rebuild(locked) })
			close(done)
		}()
		<-locked
		r = do("GET /item", x.lookUp)
		<-done
	})
	got := read(t, data, r)
	c := largest(t, got, states.Mutex)
	in(t, c.Function, "(*index).lookUp")
	if c.By == nil || c.By.Request != "GET /search" {
		t.Fatalf("held by %+v, want GET /search", c.By)
	}
	in(t, c.By.Function, "(*index).rebuild")
	if want := "waited for a mutex that GET /search held in (*index).rebuild"; !strings.Contains(got.Sentence(), want) {
		t.Errorf("sentence is %q, want %q in it", got.Sentence(), want)
	}
}

//go:noinline
func rest() { time.Sleep(long) }

func TestTimer(t *testing.T) {
	var r *request
	got := read(t, record(t, func() { r = do("GET /", rest) }), r)
	in(t, largest(t, got, states.Timer).Function, "analysis_test.rest")
}

//go:noinline
func pay(t *testing.T, url string) {
	response, err := http.Get(url)
	if err != nil {
		t.Error(err)
		return
	}
	response.Body.Close()
}

func TestNetwork(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(long) }))
	defer server.Close()
	var r *request
	got := read(t, record(t, func() { r = do("GET /", func() { pay(t, server.URL) }) }), r)
	in(t, largest(t, got, states.Network).Function, "analysis_test.pay")
}

var sink atomic.Uint64

// burn uses a processor for a fixed amount of work.
//
//go:noinline
func burn() { sink.Add(hash(30_000_000)) }

func hash(n uint64) (h uint64) {
	for i := range n {
		h = h*31 + i
	}
	return h
}

func TestProcessorTime(t *testing.T) {
	var r *request
	got := read(t, record(t, func() { r = do("GET /", burn) }), r)
	in(t, largest(t, got, states.OnCPU).Function, "analysis_test.hash")
}

// Without a sample, time on a processor counts for the function that called what came before and after.
func TestProcessorTimeWithoutSample(t *testing.T) {
	for range 100 { // until nothing interrupts the request
		var r *request
		got := read(t, record(t, func() {
			r = start("GET /") // by this function
			func() {
				sink.Add(hash(100_000))
				r.end()
			}()
		}), r)
		if slices.ContainsFunc(got.Goroutines[0].Intervals, func(i states.Interval) bool { return i.Kind != states.OnCPU || i.Stack != nil }) {
			continue
		}
		in(t, largest(t, got, states.OnCPU).Function, "analysis_test.TestProcessorTimeWithoutSample.func1")
		return
	}
	t.Error("each request was interrupted")
}

func TestProcessorsTaken(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var r *request
	got := read(t, record(t, func() {
		var others sync.WaitGroup
		var stop atomic.Bool
		for range 4 {
			others.Go(func() {
				do("GET /report", func() {
					for !stop.Load() {
						sink.Add(hash(1_000_000))
					}
				})
			})
		}
		// Whenever this request gives the processor away, the others have it until the runtime preempts them.
		r = do("GET /", func() {
			for range 3 {
				runtime.Gosched()
				sink.Add(hash(100_000))
			}
		})
		stop.Store(true)
		others.Wait()
	}), r)
	c := largest(t, got, states.Runnable)
	if c.By == nil || c.By.Request != "GET /report" {
		t.Fatalf("processors taken by %+v, want GET /report", c.By)
	}
	in(t, c.By.Function, "analysis_test.hash")
}

func TestGarbageCollection(t *testing.T) {
	list := nodes()
	var r *request
	got := read(t, record(t, func() {
		r = do("GET /", func() {
			for range 5 {
				runtime.GC()
			}
		})
	}), r)
	runtime.KeepAlive(list)
	largest(t, got, states.GarbageCollection)
	if want := "garbage collection"; !strings.Contains(got.Sentence(), want) {
		t.Errorf("sentence is %q, want %q in it", got.Sentence(), want)
	}
}

type node struct {
	next *node
	_    [3]uintptr
}

func nodes() []*node {
	list := make([]*node, 1_000_000)
	for i := range list {
		list[i] = new(node)
	}
	return list
}

// litter replaces nodes of a list until the garbage collector has run a few times.
//
//go:noinline
func litter(list []*node) {
	cycles := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(cycles)
	for end := cycles[0].Value.Uint64() + 5; cycles[0].Value.Uint64() < end; metrics.Read(cycles) {
		for i := range 10_000 {
			list[i] = &node{next: list[i+1]}
		}
	}
}

// A goroutine that allocates helps the collector. Its stack is known then.
func TestHelpToCollector(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	list := nodes()
	var r *request
	data := record(t, func() { r = do("GET /", func() { litter(list) }) })
	got := read(t, data, r)
	helps, sampled, all := 0, 0, got.Goroutines[0].Intervals
	for i := range all {
		if all[i].Kind != states.GCAssist {
			continue
		}
		if helps++; i > 0 && all[i-1].Kind == states.OnCPU && len(all[i-1].Stack) > 0 {
			sampled++
		}
	}
	// Within its help, a goroutine may wait, which is an interval, too.
	if want := assists(t, data, got.Goroutines[0].ID); helps < want || want == 0 {
		t.Errorf("%d intervals are help to the collector, want at least the %d of the trace", helps, want)
	}
	if sampled == 0 {
		t.Error("no interval before the help has a stack")
	}
	help := interval(got, 0, states.GCAssist)
	for _, f := range help.Stack {
		if states.Short(f.Function) == "analysis_test.litter" {
			return
		}
	}
	t.Errorf("the help has the stack %v, want litter in it", help.Stack)
}

// assists counts how often the goroutine begins to help the collector.
func assists(t *testing.T, data []byte, goroutine uint64) (n int) {
	r, err := xtrace.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for {
		event, err := r.ReadEvent()
		if err != nil {
			return n
		}
		if event.Kind() == xtrace.EventRangeBegin && event.Range().Name == "GC mark assist" && uint64(event.Goroutine()) == goroutine {
			n++
		}
	}
}
