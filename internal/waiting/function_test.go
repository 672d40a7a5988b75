package waiting_test

import (
	"testing"

	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

func TestFunction(t *testing.T) {
	for _, c := range []struct {
		name  string
		stack []string
		want  string
	}{
		{"nothing", nil, ""},
		{"of the program", []string{"sync.(*Mutex).Lock", "shop/store.(*Index).Search", "net/http.(*conn).serve"}, "shop/store.(*Index).Search"},
		{"of the program, in a library", []string{"internal/poll.(*FD).Read", "example.com/driver.(*conn).read", "main.(*Store).load", "example.com/router.(*Mux).ServeHTTP", "net/http.(*conn).serve"}, "main.(*Store).load"},
		{"main", []string{"time.Sleep", "main.main"}, "main.main"},
		{"of the standard library only", []string{"internal/poll.(*FD).Read", "net/http.(*conn).serve"}, "net/http.(*conn).serve"},
		{"golang.org/x counts as standard", []string{"golang.org/x/sync/errgroup.(*Group).Wait", "example.com/app.f"}, "example.com/app.f"},
	} {
		t.Run(c.name, func(t *testing.T) {
			i := &waits.Interval{}
			for _, f := range c.stack {
				i.Stack = append(i.Stack, waits.Frame{Function: f})
			}
			if got := waiting.Function(i); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
