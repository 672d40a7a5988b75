package main

import (
	"net/http"

	"github.com/perfline/perfline/guard"
)

// published returns an error as guard.Local does, for a port in a container that is published on
// its host's loopback. Connections to such a port come from an address of the container engine:
// only the host and the containers beside this one can make them. The other rules of guard.Local
// stand: a Host header of this machine (against DNS rebinding), and no proxy in between.
func published(r *http.Request) error {
	r = r.WithContext(r.Context()) // a copy
	r.RemoteAddr = "127.0.0.1:0"
	return guard.Local(r)
}
