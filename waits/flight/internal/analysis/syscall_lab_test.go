//go:build lab && unix

package analysis_test

import (
	"syscall"
	"time"
)

var _ = add(map[string]func(*recorder){
	"syscall": func(r *recorder) {
		read, write := r.pipe()
		defer syscall.Close(read)
		defer syscall.Close(write)
		r.trace(func() {
			go func() {
				time.Sleep(long)
				_, _ = syscall.Write(write, []byte{1})
			}()
			r.want(do("GET /", func() { flush(read) }))
		})
	},
})

func (r *recorder) pipe() (read, write int) {
	var ends [2]int
	if err := syscall.Pipe(ends[:]); err != nil {
		r.Fatalf("%v", err)
	}
	return ends[0], ends[1]
}

//go:noinline
func flush(fd int) { _, _ = syscall.Read(fd, make([]byte, 1)) }
