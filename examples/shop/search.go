package main

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/perfline/perfline/marks"
)

// maxIndexAge is the age at which a search makes a new index. That request is slow, and
// its profile shows the reason.
const maxIndexAge = time.Second

// Parts of a text that are found are this long, in bytes.
const minPart, maxPart = 3, 9

// An index finds products by any part of what is written about them.
type index struct {
	mu    sync.Mutex // guards what follows
	made  time.Time
	parts map[string][]product
}

// find returns the products that hold text, which may be cut.
func (x *index) find(ctx context.Context, s *store, text string) ([]product, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if time.Since(x.made) > maxIndexAge {
		marks.Mark(ctx, "index.old")
		parts, err := makeIndex(ctx, s)
		if err != nil {
			return nil, err
		}
		x.made, x.parts = time.Now(), parts
	}
	text = strings.ToLower(text)
	return x.parts[text[:min(len(text), maxPart)]], nil
}

func makeIndex(ctx context.Context, s *store) (map[string][]product, error) {
	defer marks.Time(ctx, "index").End()
	parts := map[string][]product{}
	for page := int64(0); ; page++ {
		list, err := s.list(ctx, page)
		if err != nil || len(list) == 0 {
			return parts, err
		}
		for _, p := range list {
			addParts(parts, p)
		}
	}
}

func addParts(parts map[string][]product, p product) {
	text := strings.ToLower(p.Name + ": " + p.About)
	for from := range text {
		for to := from + minPart; to <= min(from+maxPart, len(text)); to++ {
			part := text[from:to]
			if found := parts[part]; len(found) < 20 &&
				(len(found) == 0 || found[len(found)-1].ID != p.ID) {
				parts[part] = append(found, p)
			}
		}
	}
}

// search finds products.
func (h *handler) search(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	text := r.FormValue("q")
	if len(text) < minPart {
		http.Error(w, "a search needs three letters or more", http.StatusBadRequest)
		return
	}
	found, err := h.index.find(ctx, h.store, text)
	if err != nil {
		fail(ctx, w, err)
		return
	}
	writeJSON(ctx, w, http.StatusOK, found)
}
