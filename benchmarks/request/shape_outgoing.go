package main

import (
	"io"
	"net/http"
	"strings"
)

// stock is the callee of outgoing calls: it answers in the process, and is not traced.
type stock struct{}

func (stock) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/plain"}}, Body: io.NopCloser(strings.NewReader("12")), ContentLength: 2, Request: r,
	}, nil
}

func openOutgoing(i instrumentation) (*workload, error) {
	client := &http.Client{Transport: i.transport(stock{})}
	return serving(i, func(w http.ResponseWriter, r *http.Request) {
		if err := ask(r, client); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		_, _ = io.WriteString(w, answer)
	}), nil
}

func ask(r *http.Request, client *http.Client) error {
	q, err := http.NewRequestWithContext(r.Context(), http.MethodGet, "http://stock.example/parts/7", http.NoBody)
	if err != nil {
		return err
	}
	res, err := client.Do(q)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return err
}
