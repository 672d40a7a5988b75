package bridgegrpc

import (
	"context"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"
)

func TestCarriers(t *testing.T) {
	md := metadata.MD{"k": {"1", "2"}, "l": {"3"}}
	in := incoming{metadata.NewIncomingContext(context.Background(), md)}
	in.Set("k", "changed")
	if got := in.Values("K"); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("incoming: values %v", got)
	}
	out := outgoing(md)
	long := incoming{metadata.NewIncomingContext(context.Background(), metadata.Pairs("tracestate", strings.Repeat(",", 1<<20)+"a=b"))}
	if got := long.Get("tracestate"); got != "" {
		t.Errorf("incoming: a tracestate of %d bytes is read", len(got))
	}
	for name, get := range map[string]func(string) string{"incoming": in.Get, "outgoing": out.Get} {
		if get("K") != "1" || get("none") != "" {
			t.Errorf("%s: got %q and %q, want 1 and nothing", name, get("K"), get("none"))
		}
	}
	for name, keys := range map[string][]string{"incoming": in.Keys(), "outgoing": out.Keys()} {
		if slices.Sort(keys); !slices.Equal(keys, []string{"k", "l"}) {
			t.Errorf("%s: keys %v", name, keys)
		}
	}
	if out.Set("K", "4"); !slices.Equal(md["k"], []string{"4"}) {
		t.Errorf("outgoing: set %v", md)
	}
}

// All values of a tracestate are one; a call with two traceparents begins a trace of its own.
func TestSeveralTraceValues(t *testing.T) {
	for _, c := range []struct {
		md            metadata.MD
		parent, state string
	}{
		{metadata.MD{"traceparent": {"p"}, "tracestate": {"a=1", "", " b=2 "}}, "p", "a=1,b=2"},
		{metadata.MD{"traceparent": {"p", "p"}, "tracestate": {"a=1"}}, "", "a=1"},
		{nil, "", ""},
	} {
		in := incoming{metadata.NewIncomingContext(context.Background(), c.md)}
		if p, s := in.Get("traceparent"), in.Get("tracestate"); p != c.parent || s != c.state {
			t.Errorf("%v: got %q and %q, want %q and %q", c.md, p, s, c.parent, c.state)
		}
	}
}
