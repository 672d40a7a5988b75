// Package peers holds the tests beside other instrumentation. They compare otelhttp's
// spans and metrics with perfline's for the same requests. They run the middleware under
// otelhttp, and look for spans of otelsql and otelgrpc on a request's timeline. They need
// no backend.
package peers
