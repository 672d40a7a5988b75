package blackbox

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/perfline/perfline/internal/modules"
)

// A Crash is what the Go runtime said of the end of a process.
type Crash struct {
	Kind Kind // Panic, FatalError or Signal
	// Message is the first line of the text without its label, such as "out of stock". The runtime
	// writes the line "fatal error: …" before it writes to the file. The message of a FatalError
	// comes from the stack, and is "unknown" if the stack does not tell.
	Message string

	// The program's own function in which the process ended, or the innermost function if none is
	// the program's own. File has the last two parts of the path. Line is 0 if unknown. All are
	// empty if no goroutine crashed: a deadlock, or a signal that another process sent.
	Function string
	File     string
	Line     int

	Goroutine uint64 // that crashed; 0 if unknown
	Creator   uint64 // the goroutine that created it; 0 if unknown
}

// Place returns the function and the line, such as "main.render (shop/render.go:42)", or "".
func (c *Crash) Place() string {
	if c.Line == 0 {
		return c.Function
	}
	return c.Function + " (" + c.File + ":" + strconv.Itoa(c.Line) + ")"
}

// A frame is a function of a goroutine's stack, and its line.
type frame struct {
	function, file string
	line           int
}

// readCrash reads the text that the runtime writes when the process ends. main is the path of the
// program's main module. readCrash returns nil without a text.
func readCrash(text, main string) *Crash {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	stacks := slices.IndexFunc(lines, isStack)
	if stacks < 0 {
		stacks = len(lines)
	}
	c, sent := headOf(lines[:stacks])
	if sent { // the signal hit any goroutine
		return c
	}
	functions := c.readStacks(lines[stacks:], main)
	if c.Kind == FatalError {
		c.Message = cmp.Or(c.Message, fatalMessage(functions))
	}
	return c
}

// isStack reports whether a line begins a stack.
func isStack(line string) bool {
	_, _, ok := goroutineOf(line)
	return ok || line == runtimeStack
}

const runtimeStack = "runtime stack:"

// headOf reads the lines above the stacks. sent says that another process sent the signal.
func headOf(lines []string) (c *Crash, sent bool) {
	c = &Crash{Kind: FatalError}
	first := true
	for _, line := range lines {
		label, rest, _ := strings.Cut(line, ": ")
		switch {
		case c.Kind == Signal:
			sent = sent ||
				strings.HasPrefix(line, "PC=") && strings.Contains(line+" ", " sigcode=0 ")
		case !first || line == "":
			continue
		case label == "panic":
			for _, note := range []string{" [recovered]", " [recovered, repanicked]"} {
				rest = strings.TrimSuffix(rest, note)
			}
			c.Kind, c.Message = Panic, rest
		case label == "fatal error":
			c.Message = rest
		case strings.HasPrefix(label, "SIG"):
			c.Kind, c.Message, sent = Signal, line, label == "SIGQUIT"
		case strings.HasPrefix(label, "[signal "): // of a fatal error
			c.Message, _, _ = strings.Cut(strings.TrimPrefix(line, "[signal "), " code=")
		default:
			continue
		}
		first = false
	}
	return c, sent
}

// readStacks reads the stacks: the runtime's own one, if there is one, and the first goroutine's.
// readStacks returns the functions of both, the innermost one first.
func (c *Crash) readStacks(lines []string, main string) (functions []string) {
	var frames []frame // of the goroutine
	inside, crashed := false, false
	for at, line := range lines {
		if id, running, ok := goroutineOf(line); ok {
			if inside {
				break // the next goroutine
			}
			// a goroutine that waits is only the first one of a list
			inside, crashed = true, running || c.Kind == Signal
			if crashed {
				c.Goroutine = id
			}
		} else if rest, ok := strings.CutPrefix(line, "created by "); ok && inside {
			if _, by, _ := strings.Cut(rest, " in goroutine "); crashed {
				c.Creator, _ = strconv.ParseUint(by, 10, 64)
			}
			break
		} else if f, ok := frameOf(line, lines[at+1:]); ok {
			functions = append(functions, f.function)
			if crashed {
				frames = append(frames, f)
			}
		}
	}
	c.choose(frames, main)
	if c.Kind == FatalError && inside && !crashed && lines[0] != runtimeStack { // nothing runs
		c.Message = cmp.Or(c.Message, "all goroutines are asleep - deadlock!")
	}
	return functions
}

// fatal has the messages of fatal errors by a function of their stacks.
var fatal = map[string]string{
	"runtime.newstack":                  "stack overflow",
	"runtime.(*mheap).grow":             "out of memory",
	"runtime.(*mcache).allocLarge":      "out of memory",
	"runtime.checkmcount":               "thread exhaustion",
	"runtime.newosproc":                 "the system refused a thread",
	"internal/runtime/maps.fatal":       "concurrent map access", // also two writes
	"internal/sync.(*Mutex).unlockSlow": "sync: unlock of unlocked mutex",
	"sync.(*RWMutex).rUnlockSlow":       "sync: RUnlock of unlocked RWMutex",
	"sync.(*RWMutex).Unlock":            "sync: Unlock of unlocked RWMutex",
}

// fatalMessage returns the message of a fatal error with functions on its stack.
func fatalMessage(functions []string) string {
	for _, f := range functions {
		if m, ok := fatal[f]; ok {
			return m
		}
	}
	return "unknown"
}

// goroutineOf returns the id in the first line of a goroutine's stack, and whether the goroutine
// was running.
func goroutineOf(line string) (id uint64, running, ok bool) {
	rest, ok := strings.CutPrefix(line, "goroutine ")
	number, rest, _ := strings.Cut(rest, " ")
	_, state, ok2 := strings.Cut(" "+rest, " [")
	id, err := strconv.ParseUint(number, 10, 64)
	ok = ok && ok2 && err == nil && strings.HasSuffix(line, ":")
	return id, ok && strings.HasPrefix(state, "running"), ok
}

// frameOf returns the function in a line, and the place in the line behind it.
func frameOf(line string, next []string) (f frame, ok bool) {
	open := strings.LastIndexByte(line, '(')
	if open <= 0 || !strings.HasSuffix(line, ")") || len(next) == 0 {
		return f, false
	}
	place, ok := strings.CutPrefix(next[0], "\t")
	if !ok {
		return f, false
	}
	place, _, _ = strings.Cut(place, " +0x")
	colon := strings.LastIndexByte(place, ':')
	if colon < 0 {
		return f, false
	}
	file := strings.ReplaceAll(place[:colon], `\`, "/")
	f.line, _ = strconv.Atoi(place[colon+1:])
	f.function = line[:open]
	f.file = path.Join(path.Base(path.Dir(file)), path.Base(file))
	return f, true
}

// choose sets the place to the first frame of the program, or of any code outside the standard
// library, or to the first frame.
func (c *Crash) choose(frames []frame, main string) {
	if len(frames) == 0 {
		return
	}
	// A deferred function that panics again lies above the stack of the first panic.
	for i := len(frames) - 1; i >= 0; i-- {
		if frames[i].function == "panic" && i+1 < len(frames) {
			frames = frames[i+1:]
			break
		}
	}
	own := modules.New(main)
	best, rank := frames[0], 0
	for _, f := range frames {
		pkg := modules.Package(f.function)
		first, _, _ := strings.Cut(pkg, "/")
		r := 0
		switch {
		case pkg == "main", main != "" && own.IsMain(f.function):
			r = 2
		case strings.Contains(first, "."):
			r = 1
		}
		if r > rank {
			best, rank = f, r
		}
	}
	c.Function, c.File, c.Line = best.function, best.file, best.line
}
