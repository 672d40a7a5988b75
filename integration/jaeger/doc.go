// Package jaeger pins the Jaeger that the integration tests run against. It is
// a module of its own because Jaeger's requirements conflict with everybody
// else's; nobody who uses perfline ever downloads it.
//
//	go build -C integration/jaeger github.com/jaegertracing/jaeger/cmd/jaeger
//
// Its go.sum is not what "go mod tidy" would write: tidy looks at test
// dependencies of Jaeger's that the module proxy does not have.
package jaeger
