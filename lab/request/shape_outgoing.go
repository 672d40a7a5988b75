package main

import (
	"io"
	"net/http"
	"strings"

	"github.com/perfline/perfline/lab/internal/service"
)

// stock is the callee of outgoing calls: it answers in the process, and is not traced.
type stock struct{}

func (stock) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1,
		ProtoMinor: 1,
		Header:     http.Header{"Content-Type": {"text/plain"}},
		Body:       io.NopCloser(strings.NewReader("12")), ContentLength: 2, Request: r,
	}, nil
}

func openOutgoing(i instrumentation) (*workload, error) {
	client := &http.Client{Transport: i.transport(stock{})}
	return serving(i, func(w http.ResponseWriter, r *http.Request) {
		if err := service.Get(r.Context(), client, "http://stock.example/parts/7"); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		_, _ = io.WriteString(w, answer)
	}), nil
}
