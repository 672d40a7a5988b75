package document

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Machine describes this machine: the processors, the release of Go and the system.
func Machine() string {
	model := "an unknown processor"
	info, _ := os.ReadFile("/proc/cpuinfo")
	if _, rest, ok := strings.Cut(string(info), "\nmodel name"); ok {
		line, _, _ := strings.Cut(rest, "\n")
		model = strings.Trim(line, " \t:")
	}
	return fmt.Sprintf("%d cores (%s), %s, %s/%s", runtime.NumCPU(), model, runtime.Version(),
		runtime.GOOS, runtime.GOARCH)
}
