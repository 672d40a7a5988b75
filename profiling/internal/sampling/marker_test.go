package sampling

import (
	"strings"
	"testing"

	"github.com/perfline/perfline/profiling/profile"
)

// A preempted function is the innermost one, and not the runtime's code that preempts it.
func TestWithoutPreemption(t *testing.T) {
	for stack, want := range map[string]string{
		"":                                      "",
		"main.f main.main":                      "main.f main.main",
		"runtime.asyncPreempt main.f main.main": "main.f main.main",
		"runtime.preemptPark runtime.asyncPreempt2 runtime.asyncPreempt main.f main.main": "main.f main.main",
		"runtime.mallocgc main.f runtime.asyncPreempt":                                    "runtime.mallocgc main.f runtime.asyncPreempt",
		"runtime.asyncPreempt": "",
	} {
		var calls []*profile.Call
		for _, name := range strings.Fields(stack) {
			calls = append(calls, &profile.Call{Name: name})
		}
		var got []string
		for _, c := range WithoutPreemption(calls) {
			got = append(got, c.Name)
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("of %q remains %q, want %q", stack, text, want)
		}
	}
}

func TestClassify(t *testing.T) {
	for _, tc := range []struct {
		name  string
		stack string // innermost first
		want  profile.Marker
	}{
		{"nothing known", "", profile.Other},
		{"user code", "main.f main.main runtime.main", profile.Ordinary},
		{"user code, recursive", "main.f main.f main.f", profile.Ordinary},
		{"the runtime for user code", "runtime.mallocgc runtime.newobject main.f", profile.Ordinary},
		{"a runtime package for user code", "internal/runtime/maps.(*Map).Get main.f", profile.Ordinary},
		{"a package named like the runtime", "runtime/pprof.profileWriter", profile.Ordinary},
		{"a user's package named like the collector", "main.gcBgMarkWorker", profile.Ordinary},
		{"a user's function named like the collector", "gcAssistAlloc.f main.main", profile.Ordinary},
		{"type arguments", "main.f[go.shape.int] main.main", profile.Ordinary},
		{"marking", "runtime.scanobject runtime.gcDrain runtime.gcBgMarkWorker.func2 runtime.systemstack runtime.gcBgMarkWorker", profile.GC},
		{"sweeping", "runtime.(*mspan).sweep runtime.sweepone runtime.bgsweep", profile.GC},
		{"giving back", "runtime.sysUnused runtime.bgscavenge.func2", profile.GC},
		{"helping the collector", "runtime.gcDrainN runtime.gcAssistAlloc1 runtime.gcAssistAlloc.func2 runtime.systemstack runtime.gcAssistAlloc runtime.mallocgc main.f", profile.GC},
		{"the collector, stack unknown", "runtime.memmove runtime._GC", profile.GC},
		{"a system call", "internal/runtime/syscall/linux.Syscall6 syscall.RawSyscall6 syscall.Syscall syscall.write os.(*File).Write main.f", profile.Syscall},
		{"on the way in", "runtime.casgstatus runtime.reentersyscall runtime.entersyscall syscall.Syscall syscall.write main.f", profile.Syscall},
		{"a goroutine in one", "syscall.Syscall syscall.read os.(*File).Read main.f", profile.Syscall},
		{"on darwin", "runtime.libcCall syscall.syscall syscall.write main.f", profile.Syscall},
		{"in package syscall", "runtime.mallocgc syscall.ByteSliceFromString syscall.open main.f", profile.Ordinary},
		{"called back from the kernel's side", "main.f syscall.Syscall main.g", profile.Ordinary},
		{"polling", "internal/runtime/syscall/linux.Syscall6 internal/runtime/syscall/linux.EpollWait runtime.netpoll runtime.findRunnable runtime.schedule runtime.park_m runtime.mcall", profile.Other},
		{"scheduling", "internal/runtime/atomic.(*Uint32).Load runtime.findRunnable runtime.schedule runtime.mcall", profile.Other},
		{"sysmon", "runtime.usleep runtime.sysmon runtime.mstart1", profile.Other},
		{"not Go's", "unknown runtime._ExternalCode", profile.Other},
		{"a function, stack unknown", "main.f runtime._System", profile.Other},
		{"parked", "runtime.gopark runtime.chanrecv runtime.chanrecv1 main.f", profile.Idle},
		{"a parked goroutine of the runtime", "runtime.gopark runtime.bgsweep", profile.Idle},
		{"about to park", "runtime.acquireSudog runtime.chanrecv main.f", profile.Ordinary},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var stack []*profile.Call
			for name := range strings.FieldsSeq(tc.stack) {
				stack = append(stack, &profile.Call{Name: name})
			}
			if got := Classify(stack); got != tc.want {
				t.Errorf("got %d, want %d: %s", got, tc.want, tc.stack)
			}
		})
	}
}
