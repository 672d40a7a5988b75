package setup

import (
	"testing"

	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/stray"
)

// Work in libraries is no fault, and work before the first request neither.
func TestPlacesInLibraries(t *testing.T) {
	for _, c := range []struct {
		function       string
		started, found bool
	}{
		{"database/sql.(*DB).connectionOpener", true, false},
		{"example.com/redis.(*Client).poll", true, false}, // the binary of a test lacks its modules
		{"main.(*store).Items", true, true},
		{"main.(*store).Items", false, false},
	} {
		recent := requests.NewRecent(requests.Config{})
		if c.started {
			recent.NoteRequest()
		}
		f := read(recent, nil, Start{})
		f.strays = []stray.Place{{Function: c.function, What: stray.Query, Count: 1000}}
		if got := len(withoutRequest(f)) > 0; got != c.found {
			t.Errorf("%+v: found %v", c, got)
		}
	}
}
