package main

import (
	"net/http"

	"github.com/perfline/perfline/lab/internal/orders"
)

// working is the request of the judge: its handler formats, hashes and encodes an order between
// its marks.
var working = shape{
	name: "work", title: "HTTP request whose handler works, with 3 marks and 2 measures of 2 attributes each",
	spans: 3, sampler: always, open: openWork, answer: orders.Answer(orders.ID),
}

// openWork leaves the response's headers alone. A handler that sets one would hide what a
// middleware makes net/http do that touches them.
func openWork(i instrumentation) (*workload, error) {
	return serving(i, func(w http.ResponseWriter, r *http.Request) {
		o := orders.Read(r.PathValue("id"))
		i.work(r.Context(), o)
		_, _ = w.Write(o.Encode())
	}), nil
}
