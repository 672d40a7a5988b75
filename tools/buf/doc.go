// Package buf pins the buf that checks and compiles the schemas in proto. It is a module
// of its own so that its requirements are nobody else's. The plugins that buf runs come
// from the modules that the generated code needs anyhow, in the versions of the root's go.mod.
//
//	go tool -modfile=tools/buf/go.mod buf generate
//
// "go mod tidy" cannot run here: it looks at test dependencies of buf's that the module
// proxy does not have.
package buf
