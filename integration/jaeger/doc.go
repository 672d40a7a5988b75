// Package jaeger pins the Jaeger that the integration tests run against. It is
// a module of its own because Jaeger's requirements conflict with the other
// modules'. Users of perfline never download it.
//
//	go build -C integration/jaeger github.com/jaegertracing/jaeger/cmd/jaeger
//
// Its go.sum is not what "go mod tidy" would write: tidy looks at test
// dependencies of Jaeger's that the module proxy does not have.
package jaeger
