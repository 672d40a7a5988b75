package modules

import "strings"

// standardRoots are the first elements of the import paths of the standard library. No other sign
// identifies the library: a binary built with -trimpath has no path of GOROOT, and paths of other
// modules may lack a dot.
var standardRoots = map[string]bool{
	"archive": true, "bufio": true, "bytes": true, "cmp": true, "compress": true, "container": true,
	"context": true, "crypto": true, "database": true, "debug": true, "embed": true,
	"encoding": true, "errors": true, "expvar": true, "flag": true, "fmt": true, "go": true,
	"hash": true, "html": true, "image": true, "index": true, "internal": true, "io": true,
	"iter": true, "log": true, "maps": true, "math": true, "mime": true, "net": true, "os": true,
	"path": true, "plugin": true, "reflect": true, "regexp": true, "runtime": true, "simd": true,
	"slices": true, "sort": true, "strconv": true, "strings": true, "structs": true, "sync": true,
	"syscall": true, "testing": true, "text": true, "time": true, "unicode": true, "unique": true,
	"unsafe": true, "uuid": true, "vendor": true, "weak": true,
}

// IsStandard reports whether an import path belongs to the standard library.
func IsStandard(pkg string) bool {
	root, _, _ := strings.Cut(pkg, "/")
	return standardRoots[root]
}
