package requests

import (
	"io"

	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/profiling/profile"
)

// WriteWaterfall writes a request as text: a line for each span with its place in time, and lines
// for its marks and waits below. With a profile of the same time, lines with ▸ show the functions
// that ran for each span; t may be nil. WriteWaterfall returns the error of w. For the zero
// Request, it returns an error and writes nothing.
func WriteWaterfall(w io.Writer, q Request, t *profile.Trace) error {
	d, err := q.decode()
	if err != nil {
		return err
	}
	return requests.WriteWaterfall(w, d, t)
}

// WriteSVG writes a request as a picture in SVG: its spans as bars, with marks and waits. It
// returns the errors of [WriteWaterfall].
func WriteSVG(w io.Writer, q Request) error {
	d, err := q.decode()
	if err != nil {
		return err
	}
	return requests.WriteSVG(w, d)
}
