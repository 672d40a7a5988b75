// Package pyroscope pins the Pyroscope that the integration tests run against. It
// is a module of its own because Pyroscope's requirements conflict with the other
// modules'. Users of perfline never download it.
//
//	go build -C integration/pyroscope github.com/grafana/pyroscope/cmd/pyroscope
//
// Its go.sum is one that "go mod tidy" could not make: it begins with the lines of
// Pyroscope's own, some of which are of versions that the checksum database does not
// have.
package pyroscope
