package garbage_test

import (
	"runtime"
	"testing"

	"github.com/perfline/perfline/internal/garbage"
)

// Objects that are held are left, with their names, until the last goroutine that has one returns.
func TestObjects(t *testing.T) {
	var objects garbage.Objects
	objects.Wait(t) // for none
	first, second, third := new([64]byte), new([64]byte), new([64]byte)
	garbage.Watch(&objects, "a", first)
	garbage.Watch(&objects, "b", second)
	garbage.Watch(&objects, "b", third)
	objects.WaitFor(t, 3)
	runtime.GC()
	if got, want := objects.String(), "1 × a, 2 × b"; got != want || objects.Left() != 3 {
		t.Errorf("%s are left, want %s", got, want)
	}
	runtime.KeepAlive(first)
	runtime.KeepAlive(second)
	release := make(chan struct{})
	go func() {
		<-release
		runtime.KeepAlive(third)
	}()
	objects.WaitFor(t, 1)
	if got, want := objects.String(), "1 × b"; got != want {
		t.Errorf("%s are left, want %s", got, want)
	}
	close(release)
	objects.Wait(t)
}
