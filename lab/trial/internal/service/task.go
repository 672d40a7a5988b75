package service

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/perfline/perfline/marks"
)

// A request of the service makes these.
const (
	Measures       = 2
	Marks          = 3
	SpansOfRequest = 1 + Measures // the server span is the first
)

// task answers a request.
func task(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	timing := marks.Time(ctx, "load", slog.Int("items", items))
	list := loadItems()
	timing.End()
	marks.Mark(ctx, "loaded", slog.Int("items", len(list)))
	ctx, timing = marks.Start(ctx, "render")
	marks.Mark(ctx, "rendering")
	body := render(list)
	timing.End()
	marks.Mark(r.Context(), "rendered", slog.Int("bytes", len(body)))
	_, _ = w.Write(body) // the client is gone
}

// The work of a request: some tens of microseconds, and garbage as real ones make.
const items = 50

type item struct {
	Name string `json:"name"`
	Hash string `json:"hash"`
	Size int    `json:"size"`
}

func loadItems() []item {
	list := make([]item, items)
	for i := range list {
		name := fmt.Sprintf("item %d", i)
		sum := sha256.Sum256([]byte(name))
		list[i] = item{Name: name, Hash: hex.EncodeToString(sum[:]), Size: i}
	}
	return list
}

func render(list []item) []byte {
	body, err := json.Marshal(list)
	if err != nil {
		panic(err) // strings and numbers can be marshalled
	}
	return body
}
