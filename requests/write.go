package requests

import (
	"io"

	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/profiling/profile"
)

// WriteWaterfall writes the request q to w as text. Each span becomes a line that shows the start
// and the length of the span. The lines below a span list the span's marks and waits. t is a
// profile of the same period, or nil. With a profile, lines with ▸ list the functions that ran for
// each span.
//
// WriteWaterfall returns the error of w. For the zero Request, WriteWaterfall writes nothing and
// returns an error.
func WriteWaterfall(w io.Writer, q Request, t *profile.Trace) error {
	d, err := q.decode()
	if err != nil {
		return err
	}
	return requests.WriteWaterfall(w, d, t)
}

// WriteSVG writes the request q to w as an SVG picture. Each bar shows a span, with the marks and
// the waits of the span. WriteSVG returns the same errors as [WriteWaterfall].
func WriteSVG(w io.Writer, q Request) error {
	d, err := q.decode()
	if err != nil {
		return err
	}
	return requests.WriteSVG(w, d)
}
