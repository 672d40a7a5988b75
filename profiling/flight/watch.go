package flight

import (
	"fmt"
	"slices"

	"github.com/perfline/perfline/profiling/states"
)

type watcher struct {
	f func(states.Root, *states.Request)
}

// Watch calls f for each root for which [Recorder.Slow] returned true, as soon as its result is ready. The request is nil if
// there is no result.
func (r *Recorder) Watch(f func(states.Root, *states.Request)) (stop func()) {
	w := &watcher{f}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watchers = append(slices.Clone(r.watchers), w)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.watchers = slices.DeleteFunc(slices.Clone(r.watchers), func(x *watcher) bool { return x == w })
	}
}

// notify tells the functions that watch. A nil requests means that no root has a result.
func (r *Recorder) notify(roots []states.Root, requests []*states.Request) {
	r.mu.Lock()
	watchers := r.watchers
	r.mu.Unlock()
	for i, root := range roots {
		var request *states.Request
		if requests != nil {
			request = requests[i]
		}
		for _, w := range watchers {
			r.call(w, root, request)
		}
	}
}

func (r *Recorder) call(w *watcher, root states.Root, request *states.Request) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		r.mu.Lock()
		r.stats.Panics++
		r.mu.Unlock()
		r.logOnce("watch", "perfline: a function that watches a flight recorder panicked; further panics are counted but not logged", "panic", fmt.Sprint(v))
	}()
	w.f(root, request)
}
