//go:build unix

package analysis_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/perfline/perfline/profiling/states"
)

//go:noinline
func flush(t *testing.T, fd int) {
	if _, err := syscall.Read(fd, make([]byte, 1)); err != nil {
		t.Error(err)
	}
}

func TestSyscall(t *testing.T) {
	var pipe [2]int
	if err := syscall.Pipe(pipe[:]); err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(pipe[0])
	defer syscall.Close(pipe[1])
	var r *request
	got := read(t, record(t, func() {
		go func() {
			blockedIn("analysis_test.flush")
			time.Sleep(long)
			if _, err := syscall.Write(pipe[1], []byte{1}); err != nil {
				t.Error(err)
			}
		}()
		r = do("GET /", func() { flush(t, pipe[0]) })
	}), r)
	in(t, largest(t, got, states.Syscall).Function, "analysis_test.flush")
}
