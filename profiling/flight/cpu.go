package flight

import (
	"context"
	rt "runtime/trace"
	"strconv"

	"github.com/perfline/perfline/internal/cputime"
)

// noteCPU notes the CPU time of the process in the execution trace.
func noteCPU() {
	if used := cputime.Process(); used > 0 {
		rt.Log(context.Background(), "perfline.cpu", strconv.FormatInt(int64(used), 10))
	}
}
