package trial

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/marks"
)

// What a request of the service makes.
const (
	Measures       = 2
	Marks          = 3
	SpansOfRequest = 1 + Measures // the server span is the first
)

// Telemetry is what the service has of it.
type Telemetry string

// The kinds of telemetry.
const (
	Perfline Telemetry = "perfline" // perfline.Start and bridgehttp.Middleware; the environment says the rest
	None     Telemetry = "none"
)

// instruments are a service with one kind of telemetry.
type instruments struct {
	wrap     func(http.Handler) http.Handler
	task     http.HandlerFunc
	stats    func() perfline.Stats
	shutdown func(context.Context) error
}

func (t Telemetry) start(ctx context.Context) (*instruments, error) {
	switch t {
	case Perfline:
		pl, err := perfline.Start(ctx, perfline.Config{})
		if err != nil {
			return nil, err
		}
		return &instruments{bridgehttp.Middleware, marked, pl.Stats, pl.Shutdown}, nil
	case None:
		nothing := func(context.Context) error { return nil }
		return &instruments{func(h http.Handler) http.Handler { return h }, bare, noStats, nothing}, nil
	}
	return nil, fmt.Errorf("telemetry %q: must be %q or %q", t, Perfline, None)
}

func marked(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	timing := marks.Time(ctx, "load", slog.Int("items", items))
	list := load()
	timing.End()
	marks.Mark(ctx, "loaded", slog.Int("items", len(list)))
	ctx, timing = marks.Start(ctx, "render")
	marks.Mark(ctx, "rendering")
	body := render(list)
	timing.End()
	marks.Mark(r.Context(), "rendered", slog.Int("bytes", len(body)))
	_, _ = w.Write(body) // the client is gone: nobody to tell
}

func bare(w http.ResponseWriter, _ *http.Request) {
	_, _ = w.Write(render(load())) // the client is gone: nobody to tell
}

// The work of a request: some tens of microseconds, and garbage as real ones make.
const items = 50

type item struct {
	Name string `json:"name"`
	Hash string `json:"hash"`
	Size int    `json:"size"`
}

func load() []item {
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
