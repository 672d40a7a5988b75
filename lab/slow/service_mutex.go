package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/perfline/perfline/marks"
)

// An index has a lock that a request can hold for long.
type index struct {
	call func(context.Context, time.Duration) error

	rebuilding sync.Mutex // guards sum
	sum        [sha256.Size]byte

	mu    sync.Mutex // guards count
	count int
}

// product takes a lock for a moment, as most requests do.
func (x *index) product(id string) product {
	p := newProduct(id)
	x.mu.Lock()
	x.count++
	x.mu.Unlock()
	return p
}

// find waits for the lock, which another request has taken before.
func (s *shop) find(ctx context.Context, way string, takes time.Duration) error {
	ctx, span := marks.Start(ctx, "index.find")
	defer span.End()
	if err := s.outside.prepare(ctx, "search", way, takes); err != nil {
		return err
	}
	s.index.lookup()
	return nil
}

//go:noinline
func (x *index) lookup() byte {
	x.rebuilding.Lock()
	defer x.rebuilding.Unlock()
	return x.sum[0]
}

// search is the other request. Its client learns from the first bytes of the answer that the lock
// is held.
func (s *shop) search(w http.ResponseWriter, r *http.Request) {
	_, way, takes, err := parsePart(r.FormValue("part"))
	if err == nil {
		err = s.index.rebuild(r.Context(), way, takes,
			func() error { return http.NewResponseController(w).Flush() })
	}
	if err != nil {
		panic(fmt.Errorf("search: %w", err)) // the answer has begun
	}
}

// rebuild holds the lock.
//
//go:noinline
func (x *index) rebuild(ctx context.Context, way string, takes time.Duration,
	announce func() error) error {
	x.rebuilding.Lock()
	defer x.rebuilding.Unlock()
	until := time.Now().Add(takes)
	if err := announce(); err != nil {
		return err
	}
	if way == calling {
		return x.call(ctx, takes)
	}
	for time.Now().Before(until) {
		for range 200 {
			x.sum = sha256.Sum256(x.sum[:])
		}
	}
	return nil
}
