package recipes

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/coder/websocket"

	"github.com/perfline/perfline/marks"
)

// Unit does some work as a unit of its own, with a trace, marks and a profile.
func Unit(ctx context.Context, name string, work func(context.Context) error) error {
	ctx, t := marks.StartJob(ctx, name)
	defer t.End()
	err := work(ctx)
	t.Fail(err)
	return err
}

// ReadMessages calls a handler for each message of a websocket, as a unit, until the connection
// ends or the handler fails.
func ReadMessages(ctx context.Context, c *websocket.Conn, name string,
	handler func(context.Context, []byte) error) error {
	for {
		_, message, err := c.Read(ctx)
		if err != nil {
			return err
		}
		if err := Unit(ctx, name, func(ctx context.Context) error {
			return handler(ctx, message)
		}); err != nil {
			return err
		}
	}
}

// SendEvents answers a request with server-sent events, until the client leaves or events is
// closed. Writing an event is a unit. The wait for the next event belongs to no unit.
func SendEvents[E any](w http.ResponseWriter, r *http.Request, name string, events <-chan E,
	write func(context.Context, io.Writer, E) error) error {
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	err := out.Flush()
	for err == nil {
		select {
		case e, ok := <-events:
			if !ok {
				return nil
			}
			err = Unit(r.Context(), name, func(ctx context.Context) error {
				return errors.Join(write(ctx, w, e), out.Flush())
			})
		case <-r.Context().Done():
			return nil
		}
	}
	return err
}
