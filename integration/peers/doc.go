// Package peers holds the tests beside other people's instrumentation: the spans
// and metrics of otelhttp next to those of the bridge for the same requests, the
// bridge under otelhttp, and spans of otelsql and otelgrpc on a request's timeline.
// They need no backend.
package peers
