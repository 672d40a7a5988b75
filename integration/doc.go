// Package integration holds the tests that need a real backend: perfline and
// the shop in front of a Jaeger and a Pyroscope that are built from source and
// started here. Run them with
//
//	go test -race ./...
//
// in this folder. The first run builds the two, which takes some minutes. No test
// is ever skipped. Package peers, below, needs no backend.
package integration
