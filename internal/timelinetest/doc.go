// Package timelinetest has no code. Its module has tests of packages observer, record, observertest
// and marks. These tests need more than the standard library, and users of the packages should not
// get the tests' modules.
package timelinetest
