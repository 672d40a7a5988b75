package modules

import "strings"

// standardRoots are the first elements of the import paths of the standard library. Nothing else
// tells it apart: a binary that was built with -trimpath has no path of GOROOT, and the path of
// another module may have no dot.
var standardRoots = map[string]bool{
	"archive": true, "bufio": true, "bytes": true, "cmp": true, "compress": true, "container": true,
	"context": true, "crypto": true,
	"database": true, "debug": true, "embed": true, "encoding": true, "errors": true,
	"expvar": true, "flag": true, "fmt": true,
	"go": true, "hash": true, "html": true, "image": true, "index": true, "internal": true,
	"io": true, "iter": true, "log": true,
	"maps": true, "math": true, "mime": true, "net": true, "os": true, "path": true, "plugin": true,
	"reflect": true, "regexp": true,
	"runtime": true, "simd": true, "slices": true, "sort": true, "strconv": true, "strings": true,
	"structs": true, "sync": true,
	"syscall": true, "testing": true, "text": true, "time": true, "unicode": true, "unique": true,
	"unsafe": true, "uuid": true,
	"vendor": true, "weak": true,
}

// IsStandard reports whether a package is of the standard library, by its import path.
func IsStandard(pkg string) bool {
	root, _, _ := strings.Cut(pkg, "/")
	return standardRoots[root]
}
