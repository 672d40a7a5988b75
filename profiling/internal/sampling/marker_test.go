package sampling

import (
	"strings"
	"testing"
)

func TestClassify(t *testing.T) {
	for _, tc := range []struct {
		name  string
		stack string // innermost first
		want  Marker
	}{
		{"nothing known", "", Other},
		{"user code", "main.f main.main runtime.main", Running},
		{"user code, recursive", "main.f main.f main.f", Running},
		{"the runtime for user code", "runtime.mallocgc runtime.newobject main.f", Running},
		{"a runtime package for user code", "internal/runtime/maps.(*Map).Get main.f", Running},
		{"a package named like the runtime", "runtime/pprof.profileWriter", Running},
		{"a user's package named like the collector", "main.gcBgMarkWorker", Running},
		{"a user's function named like the collector", "gcAssistAlloc.f main.main", Running},
		{"type arguments", "main.f[go.shape.int] main.main", Running},
		{"marking", "runtime.scanobject runtime.gcDrain runtime.gcBgMarkWorker.func2 runtime.systemstack runtime.gcBgMarkWorker", GC},
		{"sweeping", "runtime.(*mspan).sweep runtime.sweepone runtime.bgsweep", GC},
		{"giving back", "runtime.sysUnused runtime.bgscavenge.func2", GC},
		{"helping the collector", "runtime.gcDrainN runtime.gcAssistAlloc1 runtime.gcAssistAlloc.func2 runtime.systemstack runtime.gcAssistAlloc runtime.mallocgc main.f", GC},
		{"the collector, stack unknown", "runtime.memmove runtime._GC", GC},
		{"a system call", "internal/runtime/syscall/linux.Syscall6 syscall.RawSyscall6 syscall.Syscall syscall.write os.(*File).Write main.f", Syscall},
		{"on the way in", "runtime.casgstatus runtime.reentersyscall runtime.entersyscall syscall.Syscall syscall.write main.f", Syscall},
		{"a goroutine in one", "syscall.Syscall syscall.read os.(*File).Read main.f", Syscall},
		{"on darwin", "runtime.libcCall syscall.syscall syscall.write main.f", Syscall},
		{"in package syscall", "runtime.mallocgc syscall.ByteSliceFromString syscall.open main.f", Running},
		{"called back from the kernel's side", "main.f syscall.Syscall main.g", Running},
		{"polling", "internal/runtime/syscall/linux.Syscall6 internal/runtime/syscall/linux.EpollWait runtime.netpoll runtime.findRunnable runtime.schedule runtime.park_m runtime.mcall", Other},
		{"scheduling", "internal/runtime/atomic.(*Uint32).Load runtime.findRunnable runtime.schedule runtime.mcall", Other},
		{"sysmon", "runtime.usleep runtime.sysmon runtime.mstart1", Other},
		{"not Go's", "unknown runtime._ExternalCode", Other},
		{"a function, stack unknown", "main.f runtime._System", Other},
		{"parked", "runtime.gopark runtime.chanrecv runtime.chanrecv1 main.f", Idle},
		{"a parked goroutine of the runtime", "runtime.gopark runtime.bgsweep", Idle},
		{"about to park", "runtime.acquireSudog runtime.chanrecv main.f", Running},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var stack []*Symbol
			for name := range strings.FieldsSeq(tc.stack) {
				stack = append(stack, &Symbol{Name: name})
			}
			if got := Classify(stack); got != tc.want {
				t.Errorf("got %d, want %d: %s", got, tc.want, tc.stack)
			}
		})
	}
}
