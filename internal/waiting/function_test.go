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
		{"a literal of a package variable has a caller", []string{"runtime.chansend1", "main.init.func2", "main.send", "net/http.(*conn).serve"}, "main.send"},
		{"a literal of a package variable has no caller", []string{"runtime.chansend1", "example.com/stream.init.func2.1", "net/http.(*conn).serve"}, "example.com/stream.init.func2.1 (stream.go:57)"},
		{"a literal of an init function", []string{"main.init.0.func1"}, "main.init.0.func1"},
		{"a function inside a literal", []string{"main.init.func65.(*store).load.4", "main.main"}, "main.init.func65.(*store).load.4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			i := &waits.Interval{}
			for _, f := range c.stack {
				i.Stack = append(i.Stack, waits.Frame{Function: f, File: "shop/stream/stream.go", Line: 57})
			}
			if got := waiting.Function(i); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
