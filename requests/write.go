package requests

import (
	"io"

	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/profiling/profile"
)

// WriteWaterfall writes a request as text. Each span is a line that shows the span's position in
// time. The lines below a span list the span's marks and waits. t is a profile of the same time, or
// nil. With a profile, lines with ▸ list the functions that ran for each span.
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

// WriteSVG writes a request as an SVG picture. Bars show the spans. The bars also contain the marks
// and the waits of the spans. WriteSVG returns the same errors as [WriteWaterfall].
func WriteSVG(w io.Writer, q Request) error {
	d, err := q.decode()
	if err != nil {
		return err
	}
	return requests.WriteSVG(w, d)
}
