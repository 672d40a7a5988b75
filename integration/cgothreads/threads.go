// Package cgothreads has threads that Go did not make, for the test that samples a
// program with such threads.
package cgothreads

/*
#cgo LDFLAGS: -lpthread
#include <pthread.h>
#include <stdatomic.h>

static atomic_int stop;
static pthread_t thread;

static void *spin(void *unused) {
	(void)unused;
	volatile unsigned long n = 0;
	while (!atomic_load(&stop)) {
		n++;
	}
	return 0;
}

static int start_thread(void) {
	atomic_store(&stop, 0);
	return pthread_create(&thread, 0, spin, 0);
}

static void stop_thread(void) {
	atomic_store(&stop, 1);
	pthread_join(thread, 0);
}

static void spin_here(unsigned long n) {
	for (volatile unsigned long i = 0; i < n; i++) {
	}
}
*/
import "C"

import "fmt"

// Start starts a thread that computes until stop is called.
func Start() (stop func(), err error) {
	if code := C.start_thread(); code != 0 {
		return nil, fmt.Errorf("pthread_create: error %d", int(code))
	}
	return func() { C.stop_thread() }, nil
}

// SpinHere counts to n in C, on the calling goroutine's thread.
func SpinHere(n int) { C.spin_here(C.ulong(n)) }
