// Package integration holds the tests that need a real backend. perfline and the shop
// send to a Jaeger, a Pyroscope and a Collector, which are built from source and started
// with the configurations of deploy/. Run the tests with
//
//	go test -race -count=1 ./...
//
// in this folder; Go does not know that a result is old when one of those files has
// changed. The first run builds the backends, which takes minutes. On a machine that has
// none, build them before: go run ./build. No test is ever skipped. Packages peers and
// contrib, below, need no backend.
package integration
