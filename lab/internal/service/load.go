package service

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// clients are so many that a service flat out always has something to do.
const clients = 16

// NewClient returns a client for Repeat.
func NewClient() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
}

// Repeat asks for the given length: at a rate in requests a second, or as often as it can when the
// rate is 0. It returns how long each request took.
//
// At a rate, each request has a moment at which it is due. A request that cannot be made then,
// because all clients wait for the service, counts from that moment on.
func Repeat(ctx context.Context, rate int, length time.Duration,
	ask func(context.Context) error) ([]time.Duration, error) {
	parallel := clients
	if rate > 0 {
		parallel = 4 * clients
	}
	var wg sync.WaitGroup
	var number atomic.Int64
	took, errs := make([][]time.Duration, parallel), make([]error, parallel)
	start := time.Now()
	for i := range parallel {
		wg.Go(func() {
			for errs[i] == nil {
				began := time.Now()
				if rate > 0 {
					due := start.Add(time.Duration(number.Add(1)-1) * time.Second / time.Duration(
						rate))
					if due.Sub(start) >= length {
						return
					}
					if wait := time.Until(due); wait > 0 {
						time.Sleep(wait)
						began = time.Now() // that it woke up late is not the service's doing
					} else {
						began = due
					}
				} else if began.Sub(start) >= length {
					return
				}
				errs[i] = ask(ctx)
				took[i] = append(took[i], time.Since(began))
			}
		})
	}
	wg.Wait()
	return slices.Concat(took...), errors.Join(errs...)
}
