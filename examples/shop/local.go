package main

import (
	"net/http"

	"github.com/perfline/perfline/exporter/live"
)

// only keeps a handler to those whom authorize lets in, those on this machine if it is nil, as
// the live page is: who has a profile made takes CPU time, and learns what the shop runs.
func only(authorize func(*http.Request) error, next http.HandlerFunc) http.Handler {
	if authorize == nil {
		authorize = live.Local
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := authorize(r); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		next(w, r)
	})
}

// local is live.Local for a port in a container that is published on its host's loopback. Its
// connections come from an address of the container engine's: that they come at all says that they come
// from the host, or from a container beside this one. What else live.Local asks stands: a Host header of
// this machine (against DNS rebinding), and no proxy in between.
func local(r *http.Request) error {
	r = r.WithContext(r.Context()) // a copy
	r.RemoteAddr = "127.0.0.1:0"
	return live.Local(r)
}
