package bridgegrpc_test

import (
	"testing"

	"github.com/perfline/perfline/internal/bothproviders"
)

// The tests of this package hold over each provider.
func TestOverProcessors(t *testing.T) { bothproviders.Again(t, bothproviders.Processors, "^TestOver") }
func TestOverSDK(t *testing.T)        { bothproviders.Again(t, bothproviders.SDK, "^TestOver") }
