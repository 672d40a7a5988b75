package mcpserver

import (
	"bufio"
	"io"
	"net/http"
)

// isBatch reports whether a body is an array of messages, which the protocol's version of
// 2025-03-26 allows: the SDK would make all its calls at a time. The body stays whole, but for
// white space before it.
func isBatch(w http.ResponseWriter, r *http.Request) bool {
	body := bufio.NewReader(http.MaxBytesReader(w, r.Body, maxBody))
	r.Body = struct {
		io.Reader
		io.Closer
	}{body, r.Body}
	for {
		switch c, err := body.ReadByte(); {
		case err != nil:
			return false // the SDK gets the same error
		case c != ' ' && c != '\t' && c != '\n' && c != '\r':
			_ = body.UnreadByte() // it has just been read
			return c == '['
		}
	}
}
