// Package contrib holds the tests of instrumentation by others over both providers: the SDK's and
// bridge.TracerProvider. The same work must send the same spans. It needs no backend.
package contrib
