package modules

import (
	"slices"
	"strings"
)

// standardRoots are the first elements of the import paths of the standard library. No other sign
// identifies the library: a binary built with -trimpath has no path of GOROOT, and paths of other
// modules may lack a dot.
var standardRoots = []string{ // sorted
	"archive", "bufio", "bytes", "cmp", "compress", "container", "context", "crypto", "database",
	"debug", "embed", "encoding", "errors", "expvar", "flag", "fmt", "go", "hash", "html", "image",
	"index", "internal", "io", "iter", "log", "maps", "math", "mime", "net", "os", "path", "plugin",
	"reflect", "regexp", "runtime", "simd", "slices", "sort", "strconv", "strings", "structs",
	"sync", "syscall", "testing", "text", "time", "unicode", "unique", "unsafe", "uuid", "vendor",
	"weak",
}

// IsStandard reports whether an import path belongs to the standard library.
func IsStandard(pkg string) bool {
	root, _, _ := strings.Cut(pkg, "/")
	_, ok := slices.BinarySearch(standardRoots, root)
	return ok
}
