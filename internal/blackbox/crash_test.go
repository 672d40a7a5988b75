package blackbox

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
)

// recordedCrashes are the texts that programs of a Go release wrote when they crashed, by name. Each is cut behind 2.5 KB.
func recordedCrashes(tb testing.TB, release string) map[string]string {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "crashes."+release+".txt"))
	if err != nil {
		tb.Fatal(err)
	}
	all := map[string]string{}
	for part := range strings.SplitSeq(strings.TrimPrefix(string(b), "-- "), "\n-- ") {
		name, text, ok := strings.Cut(part, " --\n")
		if !ok {
			tb.Fatalf("no name in %q", part)
		}
		all[name] = text
	}
	return all
}

// What the runtime says of each crash, in two releases. The goroutine is noted if it is known which one crashed.
var crashes = map[string]string{
	"abort":                `signal "SIGABRT: abort"`,
	"bus":                  `fatal error "SIGBUS: bus error" main.main (shop/main.go:143), goroutine`,
	"deadlock":             `fatal error "all goroutines are asleep - deadlock!"`,
	"dependency":           `panic "runtime error: index out of range [0] with length 0" example.com/shop/cart.(*Cart).Print (cart/cart.go:30), goroutine`,
	"dependency-goroutine": `panic "no template" github.com/acme/lib/render.Must (render/render.go:7), goroutine of 1`,
	"error-lines":          `panic "order 7:" main.main (shop/main.go:101), goroutine`,
	"generic":              `panic "assignment to entry in nil map" example.com/shop/cart.(*Set[...]).Put (cart/cart.go:19), goroutine`,
	"generic-function":     `panic "runtime error: index out of range [1] with length 0" main.main.func4 (shop/main.go:150), goroutine`,
	"goexit":               `fatal error "all goroutines are asleep - deadlock!"`,
	"init":                 `panic "no configuration" main.init.0 (shop/main.go:46), goroutine`,
	"labels":               `panic "labelled" main.main.func7 (shop/main.go:185), goroutine of 1`,
	"locked":               `panic "on its own thread" main.main (shop/main.go:237), goroutine`,
	"maprange":             `fatal error "concurrent map access" main.main.func11 (shop/main.go:210), goroutine of 1`,
	"mapread":              `fatal error "concurrent map access" main.main.func9 (shop/main.go:197), goroutine of 1`,
	"mapwrite":             `fatal error "concurrent map access" main.main.func3 (shop/main.go:109), goroutine of 1`,
	"mapwrite-system":      `fatal error "concurrent map access" main.main.func3 (shop/main.go:109), goroutine of 1`,
	"memory":               `fatal error "out of memory" main.main (shop/main.go:172), goroutine`,
	"method-value":         `panic "in the basket" main.handler.serve (shop/main.go:75), goroutine of 1`,
	"nil":                  `panic "runtime error: invalid memory address or nil pointer dereference" example.com/shop/cart.(*Cart).Total (cart/cart.go:13), goroutine of 1`,
	"nil-all":              `panic "runtime error: invalid memory address or nil pointer dereference" example.com/shop/cart.(*Cart).Total (cart/cart.go:13), goroutine of 1`,
	"nil-crash":            `panic "runtime error: invalid memory address or nil pointer dereference" example.com/shop/cart.(*Cart).Total (cart/cart.go:13), goroutine of 1`,
	"nil-none":             `panic "runtime error: invalid memory address or nil pointer dereference"`,
	"nil-system":           `panic "runtime error: invalid memory address or nil pointer dereference" example.com/shop/cart.(*Cart).Total (cart/cart.go:13), goroutine of 1`,
	"overflow":             `fatal error "stack overflow" main.overflow (shop/main.go:50), goroutine`,
	"overflow-system":      `fatal error "stack overflow" main.overflow (shop/main.go:50), goroutine`,
	"panic":                `panic "out of stock" main.main (shop/main.go:89), goroutine`,
	"panic-code":           `panic "main.code(\"E12\")" main.main (shop/main.go:95), goroutine`,
	"panic-empty":          `panic "" main.main (shop/main.go:91), goroutine`,
	"pointer":              `fatal error "SIGSEGV: segmentation violation" main.main (shop/main.go:145), goroutine`,
	"quit":                 `signal "SIGQUIT: quit"`,
	"repanic":              `panic "runtime error: invalid memory address or nil pointer dereference" example.com/shop/cart.(*Cart).Total (cart/cart.go:13), goroutine`,
	"rwunlock":             `fatal error "sync: RUnlock of unlocked RWMutex" main.main (shop/main.go:232), goroutine`,
	"second":               `panic "no template" main.second (shop/main.go:64), goroutine`,
	"segv-sent":            `signal "SIGSEGV: segmentation violation"`,
	"standard":             `panic "runtime error: index out of range [1] with length 0" main.main.func5 (shop/main.go:161), goroutine`,
	"standard-goroutine":   `panic "runtime error: invalid memory address or nil pointer dereference" bytes.(*Buffer).Reset (bytes/buffer.go:125), goroutine`,
	"threads":              `fatal error "thread exhaustion"`,
	"trimpath":             `panic "runtime error: index out of range [0] with length 0" example.com/shop/cart.(*Cart).Print (cart/cart.go:30), goroutine`,
	"unlock":               `fatal error "sync: unlock of unlocked mutex" main.main (shop/main.go:168), goroutine`,
	"waitgroup":            `panic "sync: negative WaitGroup counter" main.main (shop/main.go:234), goroutine`,
}

func TestRecordedCrashes(t *testing.T) {
	for _, release := range []string{"go1.26", "go1.27"} {
		t.Run(release, func(t *testing.T) {
			recorded := recordedCrashes(t, release)
			for _, name := range slices.Sorted(maps.Keys(crashes)) {
				if recorded[name] == "" {
					t.Errorf("%s was not recorded", name)
				}
			}
			for _, name := range slices.Sorted(maps.Keys(recorded)) {
				if got := describe(readCrash(recorded[name], "example.com/shop")); got != crashes[name] {
					t.Errorf("%s is %s, want %s", name, got, crashes[name])
				}
			}
		})
	}
}

// The terminal's SIGQUIT hits any goroutine, too. A signal that comes from a fault of C code has a place.
func TestCrashBySignal(t *testing.T) {
	recorded := recordedCrashes(t, "go1.27")
	for _, c := range []struct{ name, code, state, want string }{
		{"quit", "128", "running", `signal "SIGQUIT: quit"`},
		{"segv-sent", "1", "syscall", `signal "SIGSEGV: segmentation violation" main.main (shop/main.go:136), goroutine`},
	} {
		text := strings.Replace(recorded[c.name], "sigcode=0", "sigcode="+c.code, 1)
		text = strings.Replace(text, "[running]", "["+c.state+"]", 1)
		if got := describe(readCrash(text, "example.com/shop")); got != c.want {
			t.Errorf("%s is %s, want %s", c.name, got, c.want)
		}
	}
}

func describe(c *Crash) string {
	if c == nil {
		return "none"
	}
	s := fmt.Sprintf("%s %q", c.Kind, c.Message)
	if place := c.Place(); place != "" {
		s += " " + place
	}
	if c.Goroutine > 0 {
		s += ", goroutine"
	}
	if c.Creator > 0 {
		s += fmt.Sprintf(" of %d", c.Creator)
	}
	return s
}

// The runtime of this release writes what readCrash expects.
func TestCrashes(t *testing.T) {
	for how, want := range map[string]string{
		"panic":    `panic "out of stock" blackbox.crash`,
		"nil":      `panic "runtime error: invalid memory address or nil pointer dereference" blackbox.crash`,
		"overflow": `fatal error "stack overflow" blackbox.overflow`,
		"unlock":   `fatal error "sync: unlock of unlocked mutex" blackbox.crash`,
		"map":      `fatal error "concurrent map access" blackbox.crash`,
		"exit":     "none",
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "crash")
			cmd := exec.Command(os.Args[0], "-test.run=^TestCrashingProcess$")
			cmd.Env = append(os.Environ(), crashHow+"="+how, crashFile+"="+file)
			if err := cmd.Run(); err == nil {
				t.Error("the process ended well")
			}
			text := textFile(file, maxWords)
			got := strings.ReplaceAll(describe(readCrash(text, module)), module+"/internal/", "")
			if !strings.HasPrefix(got, want) {
				t.Errorf("%s, want %s; the text is\n%s", got, want, text)
			}
		})
	}
}

const (
	module    = "github.com/perfline/perfline"
	crashHow  = "BLACKBOX_TEST_HOW"
	crashFile = "BLACKBOX_TEST_FILE"
)

// TestCrashingProcess is the process of TestCrashes that crashes.
func TestCrashingProcess(t *testing.T) {
	how := os.Getenv(crashHow)
	if how == "" {
		return
	}
	f, err := os.Create(os.Getenv(crashFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := debug.SetCrashOutput(f, debug.CrashOptions{}); err != nil {
		t.Fatal(err)
	}
	go crash(how)
	select {}
}

func crash(how string) {
	switch how {
	case "panic":
		panic("out of stock")
	case "nil":
		noCrash.Line++
	case "overflow":
		debug.SetMaxStack(1 << 20)
		overflows = overflow(1)
	case "unlock":
		new(sync.Mutex).Unlock()
	case "map":
		m := map[int]int{}
		for range 8 {
			go func() {
				for i := 0; ; i++ {
					m[i%100] = i
				}
			}()
		}
	case "exit":
		os.Exit(3)
	}
}

var (
	noCrash   *Crash
	overflows int
)

func overflow(n int) int {
	if n == overflows { // never
		return 0
	}
	return overflow(n+1) + 1
}

func FuzzReadCrash(f *testing.F) {
	for _, release := range []string{"go1.26", "go1.27"} {
		for _, text := range recordedCrashes(f, release) {
			f.Add(text, "example.com/shop")
		}
	}
	f.Fuzz(func(t *testing.T, text, main string) {
		c := readCrash(text, main)
		switch {
		case c == nil:
			if strings.TrimSpace(text) != "" {
				t.Error("a text tells no crash")
			}
		case c.Kind != Panic && c.Kind != FatalError && c.Kind != Signal:
			t.Errorf("kind %q", c.Kind)
		case c.Goroutine == 0 && c.Creator > 0:
			t.Errorf("goroutine %d created none", c.Creator)
		case !strings.Contains(text, c.Function), !strings.Contains(text, "\n\t") && c.Line > 0:
			t.Errorf("%s is not in the text", c.Place())
		}
	})
}
