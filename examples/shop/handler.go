package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/grpc"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/marks"
)

type handler struct {
	store    *store
	index    index
	payments string // base URL of the payment service
	client   *http.Client
	shipping *grpc.ClientConn
	render   func(context.Context, []product) (*bytes.Buffer, error)
}

func newHandler(s *store, payments string, shipping *grpc.ClientConn) http.Handler {
	h := &handler{
		store:    s,
		payments: payments,
		client: &http.Client{
			Timeout:   5 * time.Second,
			Transport: bridgehttp.Transport(&http.Transport{MaxIdleConnsPerHost: 100}),
		},
		shipping: shipping,
		render:   marks.Timerify("render", renderHome, marks.TimerifyOptions{}),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", h.home)
	mux.HandleFunc("GET /products/{id}", h.product)
	mux.HandleFunc("GET /search", h.search)
	mux.HandleFunc("POST /orders", h.order)
	return mux
}

var homePage = template.Must(template.New("home").Parse(`<!doctype html>
<title>Shop</title><h1>Shop</h1>
<ul>{{range .}}<li><a href="/products/{{.ID}}">{{.Name}}</a>: {{.Price}} cents</li>{{end}}</ul>
`))

// home shows a page of the catalogue.
func (h *handler) home(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	page, err := strconv.ParseInt(r.FormValue("page"), 10, 64)
	if err != nil || page < 0 {
		page = 0
	}
	list, err := h.store.list(ctx, page)
	if err != nil {
		fail(ctx, w, err)
		return
	}
	body, err := h.render(ctx, list)
	if err != nil {
		fail(ctx, w, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = body.WriteTo(w) // the client may be gone: nothing to be done
}

func renderHome(_ context.Context, list []product) (*bytes.Buffer, error) {
	var body bytes.Buffer
	err := homePage.Execute(&body, list)
	return &body, err
}

func (h *handler) product(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		http.Error(w, fmt.Sprintf("product %q: must be a number", r.PathValue("id")),
			http.StatusBadRequest)
		return
	}
	p, err := h.store.product(ctx, id)
	if err != nil {
		fail(ctx, w, err)
		return
	}
	writeJSON(ctx, w, http.StatusOK, p)
}

// order sells a product: it takes it out of stock, has it paid and writes the
// order down.
func (h *handler) order(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	var o order
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<10)).Decode(&o); err != nil ||
		o.Quantity < 1 || o.Quantity > 100 {
		http.Error(w, "an order needs a product and a quantity from 1 to 100",
			http.StatusBadRequest)
		return
	}
	marks.Mark(ctx, "order.accepted", slog.Int64("product", o.Product),
		slog.Int64("quantity", o.Quantity))
	p, err := h.store.product(ctx, o.Product)
	if err != nil {
		fail(ctx, w, err)
		return
	}
	cost, err := shippingCost(ctx, h.shipping, o.Quantity)
	if err != nil {
		fail(ctx, w, err)
		return
	}
	o.Total = p.Price*o.Quantity + cost

	ctx, checkout := marks.Start(ctx, "checkout", slog.Int64("total", o.Total))
	defer checkout.End()
	if err := h.store.reserve(ctx, o.Product, o.Quantity); err != nil {
		fail(ctx, w, err)
		return
	}
	if o.Payment, err = h.pay(ctx, o.Total); err != nil {
		fail(ctx, w, err)
		return
	}
	marks.Mark(ctx, "order.paid", slog.String("payment", o.Payment))
	if o, err = h.store.addOrder(ctx, o); err != nil {
		fail(ctx, w, err)
		return
	}
	// The request's context, not checkout's: the measure began before the checkout.
	if _, err := marks.Measure(r.Context(), "accepted-to-paid", marks.MeasureOptions{
		Start: marks.Named("order.accepted"),
		End:   marks.Named("order.paid"),
	}); err != nil {
		slog.WarnContext(ctx, "measure", "error", err)
	}
	writeJSON(ctx, w, http.StatusCreated, o)
}

// pay calls the payment service.
func (h *handler) pay(ctx context.Context, total int64) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.payments+"/payments?total="+
		strconv.FormatInt(total, 10), http.NoBody)
	if err != nil {
		return "", err
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return "", fmt.Errorf("payment: %w", err)
	}
	defer resp.Body.Close()
	id, err := io.ReadAll(io.LimitReader(resp.Body, 100))
	if err != nil || resp.StatusCode != http.StatusCreated {
		return "", errors.Join(err, fmt.Errorf("payment: status %s", resp.Status))
	}
	return string(id), nil
}

func fail(ctx context.Context, w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	switch {
	case errors.Is(err, errNotFound):
		status = http.StatusNotFound
	case errors.Is(err, errOutOfStock):
		status = http.StatusConflict
	default:
		slog.ErrorContext(ctx, "request failed", "error", err)
	}
	http.Error(w, err.Error(), status)
}

func writeJSON(ctx context.Context, w http.ResponseWriter, status int, v any) {
	defer marks.Time(ctx, "encode").End()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone: nothing to be done
}
