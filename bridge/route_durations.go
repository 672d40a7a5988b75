package bridge

import (
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxRoutes     = 256  // whose durations are known one by one
	usualQuantile = 0.95 // that is usual
	minUsual      = 128  // requests of a route before anything is usual
	recentUsual   = 4096 // requests of a route, about, that count: then older ones count half
	usualSteps    = 64   // requests between two looks at the quantile
)

// routeDurations know how long the requests of each route usually take. Methods may be called concurrently.
type routeDurations struct {
	mu     sync.RWMutex // guards the map
	routes map[string]*routeDuration
	others routeDuration // of the names that the map has no room for
}

// of returns the durations of a route. The name is copied.
func (r *routeDurations) of(name string) *routeDuration {
	r.mu.RLock()
	d := r.routes[name]
	full := len(r.routes) >= maxRoutes
	r.mu.RUnlock()
	switch {
	case d != nil:
		return d
	case full:
		return &r.others
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if d := r.routes[name]; d != nil {
		return d
	}
	if len(r.routes) >= maxRoutes {
		return &r.others
	}
	if r.routes == nil {
		r.routes = map[string]*routeDuration{}
	}
	d = new(routeDuration)
	r.routes[string([]byte(name))] = d
	return d
}

// A routeDuration is a histogram of recent durations. Its buckets are an eighth of a power of two.
type routeDuration struct {
	usual atomic.Int64 // nanoseconds; 0 while there are too few requests

	mu     sync.Mutex // guards what follows; a request that finds it locked is not counted in it
	seen   uint32     // since the last look at the quantile
	total  uint32
	counts [durationBuckets]uint32
}

const (
	bucketBits      = 3
	durationBuckets = (64 - bucketBits) << bucketBits
)

// bucketOf returns the bucket of a duration.
func bucketOf(d time.Duration) int {
	n := uint64(max(d, 1<<bucketBits))
	shift := bits.Len64(n) - 1 - bucketBits
	return shift<<bucketBits + int(n>>shift) - 1<<bucketBits
}

// upperBound returns the upper bound of a bucket.
func upperBound(bucket int) time.Duration {
	shift, within := bucket>>bucketBits, uint64(bucket&(1<<bucketBits-1))
	return time.Duration(min((within+1<<bucketBits+1)<<shift, math.MaxInt64))
}

// add counts a request, and returns what was usual before; 0 if nothing is.
func (r *routeDuration) add(d time.Duration) (usual time.Duration) {
	usual = time.Duration(r.usual.Load())
	if !r.mu.TryLock() {
		return usual
	}
	defer r.mu.Unlock()
	r.counts[bucketOf(d)]++
	r.total++
	r.seen++
	if r.total >= minUsual && (r.seen >= usualSteps || r.usual.Load() == 0) {
		r.usual.Store(int64(r.quantile()))
		r.seen = 0
	}
	if r.total >= recentUsual {
		r.total = 0
		for i := range r.counts {
			r.counts[i] /= 2
			r.total += r.counts[i]
		}
	}
	return usual
}

// quantile returns the upper bound of the usual durations. r.mu is held.
func (r *routeDuration) quantile() time.Duration {
	rest := uint32(float64(r.total) * (1 - usualQuantile))
	for i := durationBuckets - 1; i >= 0; i-- {
		if r.counts[i] > rest {
			return upperBound(i)
		}
		rest -= r.counts[i]
	}
	return 0
}
