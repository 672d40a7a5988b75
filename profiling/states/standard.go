package states

import "strings"

// standardRoots are the first elements of the import paths of the standard library. The trace does not have the paths of
// GOROOT when a program was built with -trimpath, and paths of other modules may have no dot.
var standardRoots = map[string]bool{
	"archive": true, "bufio": true, "bytes": true, "cmp": true, "compress": true, "container": true, "context": true, "crypto": true,
	"database": true, "debug": true, "embed": true, "encoding": true, "errors": true, "expvar": true, "flag": true, "fmt": true,
	"go": true, "hash": true, "html": true, "image": true, "index": true, "internal": true, "io": true, "iter": true, "log": true,
	"maps": true, "math": true, "mime": true, "net": true, "os": true, "path": true, "plugin": true, "reflect": true, "regexp": true,
	"runtime": true, "simd": true, "slices": true, "sort": true, "strconv": true, "strings": true, "structs": true, "sync": true,
	"syscall": true, "testing": true, "text": true, "time": true, "unicode": true, "unique": true, "unsafe": true, "uuid": true,
	"vendor": true, "weak": true,
}

// standardPaths are import paths that count as the standard library's, with the packages below.
var standardPaths = []string{
	"golang.org/x",
	"go.opentelemetry.io",
	"github.com/perfline/perfline/bridge",
	"github.com/perfline/perfline/internal/tracelog",
	"github.com/perfline/perfline/marks",
	"github.com/perfline/perfline/observer",
}

// Standard reports whether a function belongs to the standard library. The packages of golang.org/x, of OpenTelemetry and of perfline
// count as such: a request that waits in errgroup.(*Group).Wait, or in the instrumentation of a client, waits in the caller. A
// function without a name counts, too.
func Standard(function string) bool {
	if function == "" {
		return true
	}
	// A generic function has import paths in its type arguments.
	function, _, _ = strings.Cut(function, "[")
	for _, path := range standardPaths {
		if rest, ok := strings.CutPrefix(function, path); ok && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "/")) {
			return true
		}
	}
	first, _, nested := strings.Cut(function, "/")
	if !nested {
		first, _, _ = strings.Cut(function, ".")
	}
	return standardRoots[first]
}
