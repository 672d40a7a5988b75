package bridgegrpc_test

import (
	"testing"

	"github.com/perfline/perfline/bridge/internal/bothproviders"
)

// The tests of this package hold over perfline's provider, too.
func TestOverOwnProvider(t *testing.T) { bothproviders.Again(t, "^TestOverOwnProvider$") }
