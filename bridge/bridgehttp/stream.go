package bridgehttp

import (
	"context"
	"net/http"
	"strings"

	"github.com/perfline/perfline/internal/record"
)

// SetStream declares that the response to the request in ctx is a stream: a response that lasts
// until the client leaves, or a long poll. A stream does not fail when the client leaves, and a
// stream is never slow. Streams have the class stream, a list of their own on the page, and rows of
// their own among the routes.
//
// The [Middleware] recognizes these streams without a call of SetStream:
//
//   - a hijacked connection, and the status 101: a websocket, for example
//   - the Content-Types text/event-stream, multipart/x-mixed-replace, application/stream+json and
//     application/connect+…
//   - with a flush, the Content-Types of lines: application/x-ndjson, application/ndjson,
//     application/jsonl, application/x-jsonlines, application/json-seq and …+json-seq. Without a
//     flush, such a response is a download.
//
// Call SetStream for other streams, such as lines of text/plain, before the handler returns. Later
// calls are ignored, and so are calls outside a request. SetStream may be called concurrently.
func SetStream(ctx context.Context) {
	if u := record.FromContext(ctx).Unit(); u != nil {
		u.Stream.Store(true)
	}
}

// isStream reports whether the response is a stream: see [SetStream].
func (res *response) isStream() bool {
	if res.hijacked || res.status == http.StatusSwitchingProtocols {
		return true
	}
	if u := res.request.tl.Unit(); u != nil && u.Stream.Load() {
		return true
	}
	types := res.fields()["Content-Type"]
	return len(types) > 0 && isStreamType(types[0], res.arrival.flushed >= 0)
}

// mayBeStream reports whether the program may have meant the response to be a stream: the handler
// flushed a part of a response without a Content-Length.
func (res *response) mayBeStream() bool {
	return res.arrival.flushed >= 0 && res.arrival.declared < 0
}

// isStreamType reports whether a response with a Content-Type is a stream. flushed states that the
// handler flushed the response: a client that waits for the end needs no flush.
func isStreamType(contentType string, flushed bool) bool {
	media, _, _ := strings.Cut(contentType, ";")
	switch media = strings.ToLower(strings.TrimSpace(media)); media {
	case "text/event-stream", "multipart/x-mixed-replace", "application/stream+json":
		return true
	case "application/x-ndjson", "application/ndjson", "application/jsonl",
		"application/x-jsonlines", "application/json-seq":
		return flushed
	default:
		return strings.HasPrefix(media, "application/connect+") ||
			strings.HasSuffix(media, "+json-seq") && flushed
	}
}
