package live_test

import (
	"github.com/perfline/perfline"
	"github.com/perfline/perfline/internal/requests"
)

// stored returns the requests in memory with all that is read of them.
func stored(s perfline.Source) *requests.Recent { return (*requests.Recent)(s.Recent()) }
