package repository_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The requirements of Performance Timeline 2 (PT), User Timing 3 (UT), JS
// Self-Profiling (JSP) and Scope Profiler 1.0 (SP), in the order of their numbers. Tests carry the numbers of what they cover: in the names
// of functions (TestX_PT3_UT7) and of subtests ("PT-3 …"), or in the label of a
// single check. docs/specifications.md shows what covers what.
var requirements = map[string][]string{
	"PT": {
		1:  "a timeline of its own for each global object: observers, task flag",
		2:  "an entry is queued to every observer that wants its type",
		3:  "and to the buffer of its type unless that is full, which is counted",
		4:  "one delivery task at a time; the flag is cleared before delivering",
		5:  "observers are called from a copy of the list, each with what it has at its turn, if it has something",
		6:  "the callback gets the entries, the observer and the options",
		7:  "a callback that throws is reported and does not stop the others",
		8:  "nothing is delivered during mark or observe",
		9:  "delivery has low priority",
		10: "an entry's name, type, start and duration are read-only; names need not be unique",
		11: "a duration that does not apply is 0",
		12: "entries are serialized as a map of their attributes",
		13: "ids of entries",
		14: "navigationId",
		15: "entries come in the order of their start",
		16: "by type and by name: by identity; unknown ones give nothing",
		17: "a filter's members must all match; an entry that lacks one is left out",
		18: "types that only observers get",
		19: "a limit for each type",
		20: "an observer needs a callback",
		21: "observe without a type is an error",
		22: "types that are not supported are ignored",
		23: "observing several types again replaces the options",
		24: "one type together with several is an error",
		25: "so is one observer used in both ways, also after disconnect",
		26: "observing single types adds them up, the same type replaces",
		27: "buffered brings what the buffer holds",
		28: "observing again does not clear the observer's buffer",
		29: "the first callback after observe tells how many entries were dropped",
		30: "disconnect unregisters and empties; it is harmless twice, and observing again works",
		31: "takeRecords gives the buffer in the order of queueing, and empties it",
		32: "the supported types are listed in alphabetical order",
		33: "a callback's list has the same methods and order",
		34: "entries cannot be cloned",
		35: "developers are told of types that are dropped",
	},
	"UT": {
		1:  "mark: made, queued, buffered, returned",
		2:  "the constructor does not queue",
		3:  "a Window refuses names of PerformanceTiming",
		4:  "a mark has type mark and duration 0",
		5:  "its start is given and not negative, or now",
		6:  "its detail is taken at the call; none is null",
		7:  "a detail that cannot be cloned",
		8:  "clearMarks: all, or all of exactly that name; measures stay",
		9:  "clearing takes nothing from observers",
		10: "options together with an end mark",
		11: "options without start and end",
		12: "start, duration and end together",
		13: "these checks come first and only for options that are not empty",
		14: "the end: end, else start and duration, else now",
		15: "the start: start, else end less duration, else 0",
		16: "the end's error wins",
		17: "a measure has type measure and may have a negative duration",
		18: "its detail is taken at the call",
		19: "measure: queued, buffered, returned",
		20: "clearMeasures as clearMarks",
		21: "a name is the most recent mark of that name in the buffer, or an error",
		22: "times and durations must not be negative",
		23: "names of PerformanceTiming: an error on a Worker, 0 for navigationStart, else the value, or an error if it has none",
		24: "a number given as a name is a name",
		25: "mark and measure are supported types",
		26: "recommended names of marks",
		27: "times are monotonic and of the same clock as now",
	},
	"JSP": {
		1:  "a sample has a stack: frames from the outermost to the innermost",
		2:  "a session is started, paused or stopped, and begins started",
		3:  "while started it is sampled at each interval, as well as can be",
		4:  "while paused or stopped it is not sampled",
		5:  "started and paused may alternate, stopped is final",
		6:  "sessions in the background are paused",
		7:  "several sessions at once",
		8:  "a full buffer stops its session, tells that session's profiler alone, and takes no more",
		9:  "the trace can be had after that",
		10: "a timestamp is the time since the session's origin, by the clock of now",
		11: "a sample without a stack has no stackId",
		12: "stacks are interned from the outside in; a frame that is left out is skipped",
		13: "frames of other origins are left out",
		14: "built-ins have a name only",
		15: "a frame has its function's name, file and position",
		16: "no two resources, frames or stacks are equal; ids are indexes, a parent's below its child's",
		17: "resources are exactly those captured",
		18: "samples come in the order of time",
		19: "a profiler has one session",
		20: "sampleInterval is the one in use: as asked, or the next lower that is supported",
		21: "stopped is true exactly when the session is, also while stop is on its way",
		22: "a negative interval and one that is no number are errors, 0 is not",
		23: "interval and buffer size are required; here 0 means a default",
		24: "what the policy does not allow is an error",
		25: "it starts at once, and its trace with four empty lists",
		26: "stop ends the session and gives the trace",
		27: "nothing is sampled after stop",
		28: "the trace's members, in JSON too",
		29: "a sample can be forced in all sessions",
		30: "markers",
		31: "timestamps are no finer than now",
		32: "documents of other origins and their frames",
	},
	"SP": {
		1:  "one session at a time",
		2:  "what is not in progress cannot be stopped",
		3:  "stop ends the recording at once, the answer may take longer",
		4:  "a session is there until it is released or the service is disabled",
		5:  "only what was stopped can be released; without an id all of these are",
		6:  "ids mean nothing afterwards",
		7:  "a timeline for each frame, shared by its documents",
		8:  "times are since the profiling began",
		9:  "ids are not zero",
		10: "events come by the start of their intervals",
		11: "an event is below another one only if that was on the call stack",
		12: "an event's time is its own, without overhead, and within its interval",
		13: "aggregated times are an event's own and those of all below",
		14: "childCount is of immediate children",
		15: "an event at the top level has no parentEventID",
		16: "the mode is ALL if none is given",
		17: "each mode; names and details in ALL and REDUCE_UNIQUE_EVENTS only",
		18: "REDUCE_ALL is one GENERIC event, and perhaps one of type PROCESS",
		19: "the event that is the root is not in the answer",
		20: "maxDepth is 1 at least",
		21: "events of some types only; of all if none is given",
		22: "events that overlap an interval; a side that is not given is open",
		23: "the answer's interval is that of its events, and is not set without any",
		24: "what one type of events has of its own is with no other",
		25: "a session may wait for a request",
	},
}

// notApplicable are the requirements that no test can cover, and why.
var notApplicable = map[string]string{
	"PT-9":  "when delivery runs is up to TimelineOptions.Scheduler",
	"PT-13": "they are optional, and entries here have none",
	"PT-14": "there are no documents",
	"PT-34": "structured cloning and realms do not exist in Go",
	"UT-7":  "values are not cloned, so cloning cannot fail",
	"UT-10": "impossible by Measure's types",
	"UT-26": "they are names of what a browser shows",

	"JSP-6":  "a process has no background",
	"JSP-31": "now is not coarsened, so that nothing can be finer",
	"JSP-32": "there are no documents; modules are the origins of frames, see JSP-13",
}

// A covering test is a test function that carries the number of a requirement, and that the landing gate runs.
type coveringTest struct{ file, name string }

func TestEveryRequirementHasATest(t *testing.T) {
	atRoot(t)
	covered := coveringTests(t)
	for group, texts := range requirements {
		for i, text := range texts {
			if i == 0 {
				continue
			}
			id := fmt.Sprintf("%s-%d", group, i)
			why, left := notApplicable[id]
			switch tests := covered[id]; {
			case left && len(tests) > 0:
				t.Errorf("%s is said not to apply (%s), but has a test: %s", id, why, tests)
			case !left && len(tests) == 0:
				t.Errorf("%s, %s: no test carries its number", id, text)
			}
		}
	}
	for id := range covered {
		group, number, _ := strings.Cut(id, "-")
		if n, err := strconv.Atoi(number); err != nil || n < 1 || n >= len(requirements[group]) {
			t.Errorf("%s: there is no such requirement: %s", id, covered[id])
		}
	}
}

// docs/specifications.md has each requirement and what covers it.
func TestRequirementsDocumented(t *testing.T) {
	atRoot(t)
	covered := coveringTests(t)
	var counts, text strings.Builder
	counts.WriteString("\n| numbers | requirements | with a test | do not apply | tests |\n|---|---:|---:|---:|---:|\n")
	for _, spec := range []struct{ id, name string }{
		{"PT", "Performance Timeline Level 2"},
		{"UT", "User Timing Level 3"},
		{"JSP", "JS Self-Profiling"},
		{"SP", "Scope Profiler 1.0"},
	} {
		tested, left, tests := 0, 0, map[coveringTest]bool{}
		fmt.Fprintf(&text, "\n## %s\n\n| id | what it asks for | tests |\n|---|---|---|\n", spec.name)
		for i, what := range requirements[spec.id] {
			if i == 0 {
				continue
			}
			id := fmt.Sprintf("%s-%d", spec.id, i)
			by := "does not apply: " + notApplicable[id]
			if notApplicable[id] == "" {
				by = testLinks(covered[id])
				tested++
				for _, c := range covered[id] {
					tests[c] = true
				}
			} else {
				left++
			}
			fmt.Fprintf(&text, "| %s | %s | %s |\n", id, what, by)
		}
		fmt.Fprintf(&counts, "| %s | %d | %d | %d | %d |\n", spec.id, tested+left, tested, left, len(tests))
	}
	documented(t, "docs/specifications.md", "requirements", counts.String()+text.String())
}

// testLinks are links to the files of tests, each package's after its name.
func testLinks(tests []coveringTest) string {
	var all []string
	in := ""
	for _, c := range tests {
		link := fmt.Sprintf("[%s](../%s)", c.name, c.file)
		if dir := filepath.ToSlash(filepath.Dir(c.file)); dir != in {
			in = dir
			link = "`" + dir + "`: " + link
		}
		all = append(all, link)
	}
	return strings.Join(all, ", ")
}

// coveringTests are the tests of each requirement, by package and name.
func coveringTests(t *testing.T) map[string][]coveringTest {
	t.Helper()
	covered := map[string][]coveringTest{}
	for _, dir := range []string{"internal/timelinetest/timeline", "internal/timelinetest/marks", "profiling", "profiling/profile", "profiling/sessions", "profiling/service"} {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no tests in %s: %v", dir, err)
		}
		var all []coveringTest
		ids := map[coveringTest][]string{}
		for _, file := range files {
			text := string(read(t, file))
			if !inGate(t, filepath.ToSlash(file), text) {
				continue
			}
			for name, has := range idsOf(t, file, text) {
				c := coveringTest{filepath.ToSlash(file), name}
				all, ids[c] = append(all, c), has
			}
		}
		slices.SortFunc(all, func(a, b coveringTest) int { return strings.Compare(a.name, b.name) })
		for _, c := range all {
			for _, id := range ids[c] {
				covered[id] = append(covered[id], c)
			}
		}
	}
	return covered
}

var (
	inFunction = regexp.MustCompile(`_(PT|UT|JSP|SP)([0-9]+)`)
	inSubtest  = regexp.MustCompile(`\b(PT|UT|JSP|SP)-([0-9]+)`)
	begins     = regexp.MustCompile(`^(PT|UT|JSP|SP)-`)
)

// idsOf finds the numbers in the names of a file's test functions and of their subtests and
// checks: by function, each number once.
func idsOf(t *testing.T, file, text string) map[string][]string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for _, decl := range f.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || !strings.HasPrefix(fn.Name.Name, "Test") {
			continue
		}
		ids := map[string]bool{}
		for _, m := range inFunction.FindAllStringSubmatch(fn.Name.Name, -1) {
			ids[m[1]+"-"+m[2]] = true
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				// Messages may name a requirement, too; they are no names.
				if s, ok := n.Fun.(*ast.SelectorExpr); ok {
					return !slices.Contains([]string{"Error", "Errorf", "Fatal", "Fatalf", "Log", "Logf", "Skip", "Skipf"}, s.Sel.Name)
				}
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && begins.MatchString(text) {
					for _, m := range inSubtest.FindAllStringSubmatch(text, -1) {
						ids[m[1]+"-"+m[2]] = true
					}
				}
			}
			return true
		})
		found[fn.Name.Name] = slices.Sorted(maps.Keys(ids))
	}
	return found
}
