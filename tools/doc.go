// Package tools pins the linter that CI runs. It is a module of its own so that
// the linter's requirements are nobody else's.
//
//	go build -C tools -o golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint
package tools
