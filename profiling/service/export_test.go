package service

import "net/http"

// A Recorder is what a handler calls. Tests have recorders of their own.
type Recorder = recorder

// NewHandlerOf is NewHandler with a recorder of a test.
func NewHandlerOf(r Recorder, c Config) (path string, h http.Handler) { return newHandler(r, c) }
