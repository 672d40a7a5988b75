package setup

import (
	"testing"

	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/stray"
)

// The program cannot mend the polling of a library. Its own places count, and so do places of an unknown module, as in a build without information.
func TestPlacesInLibraries(t *testing.T) {
	for function, found := range map[string]bool{
		"database/sql.(*DB).connectionOpener":      false,
		"main.(*store).Items":                      true,
		"example.com/unknown/store.(*Store).Items": true,
	} {
		f := read(requests.NewRecent(requests.Config{}), nil, Start{})
		f.strays = []stray.Place{{Function: function, What: stray.Query, Count: 1000}}
		if got := len(withoutRequest(f)) > 0; got != found {
			t.Errorf("%s: found %v, want %v", function, got, found)
		}
	}
}
