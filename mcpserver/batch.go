package mcpserver

import (
	"bufio"
	"io"
	"net/http"
)

// isBatch reports whether the body is an array of messages, as in the protocol's version
// 2025-03-26: the SDK would run all the calls at once. isBatch removes leading white space from the
// body.
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
			_ = body.UnreadByte() // never fails after ReadByte
			return c == '['
		}
	}
}
