package flight

import (
	"slices"
	"sync"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/waits"
)

const maxNotices = 1024 // most waiting notices of a function of Watch

// A watcher is a function of Watch. The function is the program's code, which may panic, hang, or
// end its goroutine. Therefore each watcher with waiting notices has its own goroutine.
type watcher struct {
	f func(bridge.Root, *waits.Request)

	mu      sync.Mutex // guards the fields below
	waiting []notice
	running bool // the goroutine runs
}

// A notice is a result, or the end of the wait for one.
type notice struct {
	root    bridge.Root
	request *waits.Request
}

func (r *recorder) Watch(f func(bridge.Root, *waits.Request)) (stop func()) {
	w := &watcher{f: f}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watchers = append(slices.Clone(r.watchers), w)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.watchers = slices.DeleteFunc(slices.Clone(r.watchers),
			func(x *watcher) bool { return x == w })
	}
}

// notify sends notices to all watchers. With nil requests, no root has a result.
func (r *recorder) notify(roots []bridge.Root, requests []*waits.Request) {
	r.mu.Lock()
	watchers := r.watchers
	r.mu.Unlock()
	for i, root := range roots {
		n := notice{root: root}
		if requests != nil {
			n.request = requests[i]
		}
		for _, w := range watchers {
			r.tell(w, n)
		}
	}
}

// tell queues a notice. The caller is a goroutine that Shutdown waits for.
func (r *recorder) tell(w *watcher, n notice) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == maxNotices {
		r.watchFailed("too many results wait for the function", nil)
		return
	}
	w.waiting = append(w.waiting, n)
	if !w.running {
		w.running = true
		r.goroutines.Add(1)
		go r.tellAll(w)
	}
}

func (r *recorder) tellAll(w *watcher) {
	complete := false
	defer func() {
		if !complete { // the function has called runtime.Goexit
			r.watchFailed(record.GoexitText, nil)
			go r.tellAll(w)
		}
	}()
	for n, ok := w.next(); ok; n, ok = w.next() {
		if p, ok := record.Protect(func() { w.f(n.root, n.request) }); !ok {
			r.watchFailed("panic", p)
		}
	}
	complete = true
	r.goroutines.Done()
}

func (w *watcher) next() (n notice, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == 0 {
		w.waiting, w.running = nil, false
		return n, false
	}
	n = w.waiting[0]
	w.waiting = w.waiting[1:]
	return n, true
}

func (r *recorder) watchFailed(how string, p any) {
	r.mu.Lock()
	r.stats.Panics++
	r.mu.Unlock()
	args := []any{"reason", how}
	if p != nil {
		args = append(args, "panic", record.PanicValue(p))
	}
	r.logOnce("watch",
		"perfline: a function that watches the waits recorder failed; further failures are counted but not logged",
		args...)
}
