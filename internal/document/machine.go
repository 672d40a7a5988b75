package document

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Machine returns a description of this machine: the number and the model of the processors, the
// release of Go, the system and the architecture.
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
