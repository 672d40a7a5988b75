// Package repository holds the repository to its own rules. Its tests read the source and the
// documents, and run no part of perfline:
//   - the packages import each other in one direction, and stay light (deps_test.go)
//   - each requirement of the specifications has a test that the landing gate runs
//     (requirements_test.go, gate_test.go)
//   - the environment's variables that the code reads are those that internal/environ lists
//     (variables_test.go)
//   - links between documents lead somewhere (links_test.go)
//   - what documents take from the code or from docs/lab/benchmarks.md is up to date
//
// The tests of the last point have "Documented" in their names. With -update they write the
// documents instead:
//
//	go test -run Documented ./internal/repository -update
package repository
