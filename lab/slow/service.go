package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/marks"
)

// A shop is the service. The causes of its slow requests are real: locks, connections, work. Each
// cause has a file.
type shop struct {
	outside *outside
	index   *index
	prices  *prices
	cache   *cache
	reports *reports
	audit   *audit
	device  *device
	quota   *quota
	spool   *spool
	client  *http.Client // of the dependency
	address string       // of the dependency
}

// newShop returns a shop whose goroutines end with ctx.
func newShop(ctx context.Context, o serveOptions) (*shop, error) {
	out, err := dialOutside(ctx, o.outside)
	if err != nil {
		return nil, err
	}
	s := &shop{
		outside: out, index: new(index), prices: startPrices(ctx), cache: newCache(o.live),
		reports: newReports(o.database),
		device:  &device{request: o.device[0], answer: o.device[1]},
		client: &http.Client{Transport: bridgehttp.Transport(
			&http.Transport{MaxIdleConnsPerHost: 16})}, address: o.dependency,
	}
	s.index.call, s.audit = s.call, startAudit(ctx, s.call)
	s.quota = newQuota(s.call)
	s.spool, err = startSpool(ctx, s.call)
	return s, err
}

// handler has the route of the slow requests, the routes of requests that hold what these need, and
// the load's routes.
func (s *shop) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders/{id}", s.order)
	mux.HandleFunc("GET /search", s.search)
	mux.HandleFunc("GET /report", s.report)
	mux.HandleFunc("GET /archive", s.archive)
	mux.HandleFunc("GET /quote", s.quote)
	mux.HandleFunc("GET /products/{id}", s.product)
	mux.HandleFunc("GET /health",
		func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	return mux
}

// An answer says how long the parts of a slow request took, by the service's clock.
type answer struct {
	Took     []time.Duration // by part, without preparations
	Prepared time.Duration   // all preparations
}

// order is the slow request. Its parts come one after the other.
func (s *shop) order(w http.ResponseWriter, r *http.Request) {
	noteRoot(r.Context())
	marks.Mark(r.Context(), "order.read", slog.String("order", r.PathValue("id")))
	var a answer
	for _, text := range r.URL.Query()["part"] {
		began, prepared := time.Now(), s.outside.spent()
		name, way, takes, err := parsePart(text)
		if err == nil {
			err = s.do(r.Context(), name, way, takes)
		}
		if err != nil {
			http.Error(w, fmt.Sprintf("part %q: %v", text, err), http.StatusInternalServerError)
			return
		}
		prepared = s.outside.spent() - prepared
		a.Took = append(a.Took, time.Since(began)-prepared)
		a.Prepared += prepared
	}
	marks.Mark(r.Context(), "order.written")
	_ = json.NewEncoder(w).Encode(a) // the client may be gone
}

func (s *shop) do(ctx context.Context, name, way string, takes time.Duration) error {
	switch name {
	case "mutex":
		return s.find(ctx, way, takes)
	case "processors":
		return s.prices.quote(ctx, takes)
	case "assist":
		return s.cache.fill(ctx, takes)
	case "dependency":
		return s.pay(ctx, takes)
	case "inner":
		return s.ask(ctx, takes)
	case "library":
		return s.export(ctx, way, takes)
	case "pool":
		return s.stock(ctx, takes)
	case "reader":
		return s.audit.note(ctx, way, takes)
	case "syscall":
		return s.device.print(ctx, takes)
	case "pipe":
		return s.spool.print(ctx, way, takes)
	case "cpu", others, limited:
		return new(page).render(ctx, takes)
	case "timer":
		return retry(ctx, way, takes)
	}
	return fmt.Errorf("cause %q: unknown", name)
}

// parsePart reads a part of a request's query: cause, way and time, with commas between.
func parsePart(text string) (name, way string, takes time.Duration, err error) {
	fields := strings.Split(text, ",")
	if len(fields) != 3 {
		return "", "", 0, fmt.Errorf("%d fields, must be 3", len(fields))
	}
	takes, err = time.ParseDuration(fields[2])
	return fields[0], fields[1], takes, err
}

// queryPart is what parsePart reads.
func queryPart(p part) string { return p.cause.name + "," + p.way + "," + p.takes.String() }

// product is the load's request: some work, some memory and a lock.
func (s *shop) product(w http.ResponseWriter, r *http.Request) {
	lookup := marks.Time(r.Context(), "lookup")
	p := s.index.product(r.PathValue("id"))
	lookup.End()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(p) // the client may be gone
}

// A product is what the load asks for.
type product struct {
	ID       string
	Checksum uint32
	Tags     []string
}

func newProduct(id string) product {
	p := product{ID: id}
	for i := range 20 {
		p.Checksum = crc32.Update(p.Checksum, crc32.IEEETable, []byte(id))
		p.Tags = append(p.Tags, fmt.Sprintf("%s-%d", id, i))
	}
	return p
}
