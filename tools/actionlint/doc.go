// Package actionlint pins the checker of .github/workflows. It is a module of its own because the
// linter in tools needs another version of its YAML parser.
//
//	go tool -modfile=tools/actionlint/go.mod actionlint
package actionlint
