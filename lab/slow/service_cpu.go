package main

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/perfline/perfline/marks"
)

// A page takes long to lay out.
type page struct{ sum [sha256.Size]byte }

func (p *page) render(ctx context.Context, takes time.Duration) error {
	_, span := marks.Start(ctx, "page.render")
	defer span.End()
	p.layout(time.Now().Add(takes))
	return nil
}

// layout computes.
//
//go:noinline
func (p *page) layout(until time.Time) {
	for time.Now().Before(until) {
		for range 200 {
			p.sum = sha256.Sum256(p.sum[:])
		}
	}
}
