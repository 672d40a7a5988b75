package main

import "syscall"

// adopt makes this process the parent of orphans, as process 1 is.
func adopt() {
	const setChildSubreaper = 36 // of prctl(2)
	if _, _, err := syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0); err != 0 {
		panic(err)
	}
}
