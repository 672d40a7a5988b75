package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/perfline/perfline/lab/internal/otlp"
	"github.com/perfline/perfline/lab/internal/service"
)

// receivedPath is where the receivers' process says what has arrived.
const receivedPath = "/received"

// otlpKind is a receiver of OTLP over gRPC. The other kinds are the peers' arguments.
const otlpKind = "otlp"

// A received is what has arrived at a receiver.
type received struct {
	Endpoint string
	Arrived  int64 // spans; of a peer traces
	Wire     int64 // bytes, as they were read from connections
}

// A receiver takes what a service sends, and counts it.
type receiver struct {
	endpoint      string
	arrived, wire func() int64
	close         func()
}

func openReceiver(ctx context.Context, kind string) (*receiver, error) {
	if kind != otlpKind {
		return openPeerReceiver(ctx, kind)
	}
	r, err := otlp.Listen(ctx)
	if err != nil {
		return nil, err
	}
	return &receiver{r.Endpoint(), r.Spans, r.Wire, r.Close}, nil
}

// receive is the process of the receivers, one of each of these kinds: it runs until its input
// ends.
func receive(ctx context.Context, kinds string) error {
	var all []*receiver
	for kind := range strings.SplitSeq(kinds, ",") {
		r, err := openReceiver(ctx, kind)
		if err != nil {
			return err
		}
		defer r.close()
		all = append(all, r)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+receivedPath, func(w http.ResponseWriter, _ *http.Request) {
		var now []received
		for _, r := range all {
			now = append(now, received{r.endpoint, r.arrived(), r.wire()})
		}
		_ = json.NewEncoder(w).Encode(now) // a reader that fails reports it
	})
	nothing := func(context.Context) error { return nil }
	return service.Run(ctx, service.Service{Handler: mux, Flush: nothing, Shutdown: nothing})
}

// receivers are the process of the receivers: a child of the command.
type receivers struct{ process *service.Process }

// startReceivers starts a receiver of each of these kinds.
func startReceivers(ctx context.Context, o options, kinds []string) (*receivers, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, self, "-receivers", strings.Join(kinds, ","), "receive")
	command.Env, command.Stderr = o.environment(), os.Stderr
	p, err := service.Start(command)
	if err != nil {
		return nil, fmt.Errorf("the receivers: %w", err)
	}
	return &receivers{p}, nil
}

// all returns what has arrived at each receiver.
func (r *receivers) all(ctx context.Context) (now []received, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+
		r.process.Requests+receivedPath, http.NoBody)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, errors.New(res.Status)
	}
	return now, json.NewDecoder(res.Body).Decode(&now)
}

// kindsOf are the kinds of receivers of so many variants, and of peers.
func kindsOf(variants int, peers []peer) []string {
	kinds := slices.Repeat([]string{otlpKind}, variants)
	for _, p := range peers {
		kinds = append(kinds, p.argument)
	}
	return kinds
}
