// Package tools pins the linter that CI runs, and what looks for known vulnerabilities. It is a
// module of its own so that no other module has their requirements.
//
//	go build -C tools -o golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint
//	go build -C tools -o govulncheck golang.org/x/vuln/cmd/govulncheck
package tools
