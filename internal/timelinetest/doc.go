// Package timelinetest has no code. Its module has the tests of packages observer, record, observertest and marks that need more than the
// standard library, so that programs with these packages do not get the modules of the tests.
package timelinetest
