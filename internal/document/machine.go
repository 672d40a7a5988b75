package document

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Machine says where figures are from: the processors, the release of Go, and the system.
func Machine() string {
	model := "an unknown processor"
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if name, value, ok := strings.Cut(line, ":"); ok &&
				strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%d cores (%s), %s, %s/%s", runtime.NumCPU(), model, runtime.Version(),
		runtime.GOOS, runtime.GOARCH)
}
