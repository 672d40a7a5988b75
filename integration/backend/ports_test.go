package backend

import (
	"net"
	"strconv"
	"testing"
)

func TestPortIsReservedUntilItsEnd(t *testing.T) {
	first, err := loopbackPorts.reserve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	only := portRange{first.number, 1}
	if p, err := only.reserve(t.Context()); err == nil {
		t.Errorf("port %d is given a second time", p.number)
	}
	first.release()
	again, err := only.reserve(t.Context())
	if err != nil {
		t.Fatalf("a port that was given back: %v", err)
	}
	again.release()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:"+strconv.Itoa(first.number))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if p, err := only.reserve(t.Context()); err == nil {
		t.Errorf("port %d is given, and a server listens there", p.number)
	}
}
