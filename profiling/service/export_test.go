package service

import "net/http"

// A Recorder is what a handler calls. Tests have recorders of their own.
type Recorder = recorder

// Limits are the bounds of a handler.
type Limits = limits

// With returns c with other bounds.
func (c Config) With(l Limits) Config {
	c.limits = l
	return c
}

// WithStarts returns c with n starts a minute, unless c has a number.
func (c Config) WithStarts(n int) Config {
	if c.limits.StartsPerMinute == 0 {
		c.limits.StartsPerMinute = n
	}
	return c
}

// NewHandlerOf is NewHandler with a recorder of a test.
func NewHandlerOf(r Recorder, c Config) (path string, h http.Handler) { return newHandler(r, c) }
