package perfline_test

import (
	"github.com/perfline/perfline"
	"github.com/perfline/perfline/internal/requests"
)

// stored returns the requests in memory with all that the page reads of them.
func stored(pl *perfline.Pipeline) *requests.Recent { return (*requests.Recent)(pl.Recent()) }
