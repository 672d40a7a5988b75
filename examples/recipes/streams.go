package recipes

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/coder/websocket"
)

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

// Write calls write for each value of values, as a unit, until ctx ends, values is closed or write
// fails. The wait for the next value belongs to no unit.
func Write[V any](ctx context.Context, name string, values <-chan V,
	write func(context.Context, V) error) error {
	for {
		select {
		case v, ok := <-values:
			if !ok {
				return nil
			}
			if err := Unit(ctx, name, func(ctx context.Context) error {
				return write(ctx, v)
			}); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// SendEvents answers a request with server-sent events. Writing an event is a unit. SendEvents ends
// when the client leaves, events is closed or write fails.
func SendEvents[E any](w http.ResponseWriter, r *http.Request, name string, events <-chan E,
	write func(context.Context, io.Writer, E) error) error {
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	if err := out.Flush(); err != nil {
		return err
	}
	return Write(r.Context(), name, events, func(ctx context.Context, e E) error {
		return errors.Join(write(ctx, w, e), out.Flush())
	})
}
