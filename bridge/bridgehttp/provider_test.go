package bridgehttp_test

import (
	"testing"

	"github.com/perfline/perfline/bridge/internal/bothproviders"
)

// The tests of this package hold over perfline's provider, too.
func TestOverOwnProvider(t *testing.T) {
	// Spans of others are not on the request's timeline there.
	bothproviders.Again(t, "^(TestOverOwnProvider|TestServerTimingOfSpans)$")
}
