package profiling

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/perfline/perfline/profiling/internal/sampling"
)

// A keeperBench is an engineKeeper with two fake engines, in a bubble. It is the keeper's user.
type keeperBench struct {
	keeper *engineKeeper
	tb     interface {
		Errorf(format string, args ...any)
		Fatalf(format string, args ...any)
	}
	best, second *fakeEngine
	states       []engineState // that the user was told
}

// onBench runs a test with a bench whose keeper is idle.
func onBench(t *testing.T, test func(*keeperBench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &keeperBench{tb: t}
		b.reset()
		test(b)
	})
}

func (b *keeperBench) reset() {
	b.keeper, b.states = newEngineKeeper(b), []engineState{engineIdle}
	b.best, b.second = &fakeEngine{name: "best"}, &fakeEngine{name: "second"}
	b.keeper.logs.logger = slog.New(slog.DiscardHandler)
	b.keeper.newBest = func(float64) (sampling.Engine, error) { return b.best, nil }
	b.keeper.newFallback = func() sampling.Engine { return b.second }
}

func (b *keeperBench) emit(*sampling.Sample) {}

func (b *keeperBench) countEngine(uint64, time.Duration) {}

// mayFollow has the states that may follow a state. From every state, the keeper may become idle.
var mayFollow = map[engineState][]engineState{
	engineIdle:    {engineIdle, engineRunning, enginePaused, engineFailed},
	engineRunning: {engineIdle, enginePaused},
	enginePaused:  {engineIdle, engineRunning, enginePaused},
	engineFailed:  {engineIdle, engineRunning, enginePaused},
}

func (b *keeperBench) enter(s engineState) {
	if last := b.states[len(b.states)-1]; !slices.Contains(mayFollow[last], s) {
		b.tb.Errorf("the state became %v after %v", s, last)
	}
	b.states = append(b.states, s)
}

// used returns the engine that the keeper uses, and the best one if there is none.
func (b *keeperBench) used() *fakeEngine {
	if b.keeper.engine != nil {
		return b.keeper.engine.(*fakeEngine)
	}
	return b.best
}

// now returns the state, with the engine that runs or waits.
func (b *keeperBench) now() string {
	for _, e := range []*fakeEngine{b.best, b.second} {
		if want := b.keeper.state == engineRunning && b.used() == e; e.on != want {
			b.tb.Errorf("in state %v, the engine %s runs: %v", b.keeper.state, e.name, e.on)
		}
	}
	if last := b.states[len(b.states)-1]; last != b.keeper.state {
		b.tb.Errorf("the user knows the state %v, it is %v", last, b.keeper.state)
	}
	switch b.keeper.state {
	case engineRunning:
		return string(b.keeper.engine.Name())
	case enginePaused:
		return string(b.keeper.engine.Name()) + "-paused"
	default:
		return b.keeper.state.String()
	}
}

// pass lets the keeper do what is due, as a hub with profilers does.
func (b *keeperBench) pass() {
	if b.keeper.state != engineRunning && b.keeper.state != enginePaused {
		return
	}
	time.Sleep(time.Until(b.keeper.due))
	b.check(b.keeper.tick())
}

// flush flushes, as a hub with profilers does.
func (b *keeperBench) flush() {
	if b.keeper.state != engineFailed {
		b.check(b.keeper.flush())
	}
}

func (b *keeperBench) check(err error) {
	if (err != nil) != (b.keeper.state == engineFailed) {
		b.tb.Errorf("error %v in state %v", err, b.keeper.state)
	}
}

// A mood is what an engine does when it is started or read.
type mood string

const (
	well   mood = "well"
	busy   mood = "busy"   // other code has the CPU profiler
	stalls mood = "stalls" // it fails for a while
	breaks mood = "breaks" // it fails for good
	panics mood = "panics"
)

// set gives an engine a mood.
func (m mood) set(e *fakeEngine) {
	e.busy, e.taken, e.fails, e.failsAt, e.panics = m == busy, m == busy && e.on, nil, 0, ""
	switch m {
	case stalls, breaks:
		e.fails, e.failsAt = unsupported(m == stalls), everywhere
	case panics:
		e.panics = "Start and Tick"
	default:
	}
}

// keeperEvents are what may happen to a keeper. In all but the first, time passes.
var keeperEvents = map[string]func(b *keeperBench){
	"comes":  func(b *keeperBench) { b.check(b.keeper.want(10*time.Millisecond, 1)) },
	"faster": func(b *keeperBench) { b.check(b.keeper.want(time.Millisecond, 1)) },
	"budget": func(b *keeperBench) { b.check(b.keeper.want(10*time.Millisecond, .5)) },
	"leaves": func(b *keeperBench) { b.keeper.drop() },
	"flush":  (*keeperBench).flush,
	"busy":   func(b *keeperBench) { busy.set(b.used()); b.pass() },
	"free":   func(b *keeperBench) { well.set(b.used()); b.pass() },
	"stalls": func(b *keeperBench) { stalls.set(b.used()); b.pass() },
	"breaks": func(b *keeperBench) { breaks.set(b.used()); b.pass() },
	"panics": func(b *keeperBench) { panics.set(b.used()); b.pass() },
	"heals":  func(b *keeperBench) { well.set(b.best); time.Sleep(maxRetryDelay); b.pass() },
	"mends": func(b *keeperBench) {
		well.set(b.second)
		b.check(b.keeper.want(10*time.Millisecond, 1))
	},
}

// keeperStarts have the moods of the two engines with which a profiler brings the keeper into a
// state.
var keeperStarts = map[string][2]mood{
	"best":          {well, well},
	"best-paused":   {busy, well},
	"second":        {stalls, well},
	"second-paused": {stalls, busy},
	"failed":        {breaks, breaks},
}

// keeperTable has the state after each event in each state. A profiler comes, a faster one, or one
// with another budget; the last profiler leaves; the samples are flushed; other code takes the CPU
// profiler, or gives it back; the engine fails for a while or for good, or panics; the best engine
// works again; the second one does, and a profiler comes.
const keeperTable = `
event   idle  best         best-paused  second         second-paused  failed
comes   best  best         best-paused  second         second-paused  failed
faster  best  best         best-paused  second         second-paused  failed
budget  best  best         best-paused  second         second-paused  failed
leaves  idle  idle         idle         idle           idle           idle
flush   idle  best         best-paused  second         second-paused  failed
busy    idle  best-paused  best-paused  second-paused  second-paused  failed
free    idle  best         best         second         second         failed
stalls  idle  second       second       failed         failed         failed
breaks  idle  second       second       failed         failed         failed
panics  idle  second       second       failed         failed         failed
heals   idle  best         best         best           best           failed
mends   best  best         best-paused  second         second         second
`

func TestEngineKeeperTable(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(keeperTable), "\n")
	states := strings.Fields(lines[0])[1:]
	for _, line := range lines[1:] {
		row := strings.Fields(line)
		for i, from := range states {
			event, want := row[0], row[1+i]
			t.Run(from+" "+event, func(t *testing.T) {
				onBench(t, func(b *keeperBench) {
					if moods, ok := keeperStarts[from]; ok {
						moods[0].set(b.best)
						moods[1].set(b.second)
						keeperEvents["comes"](b)
					}
					if got := b.now(); got != from {
						t.Fatalf("it begins %s", got)
					}
					keeperEvents[event](b)
					if got := b.now(); got != want {
						t.Errorf("it is %s, want %s", got, want)
					}
				})
			})
		}
	}
}

// A keeperModel says in which state a keeper is after random events.
type keeperModel struct {
	state        string
	best, second mood
	panicked     bool
	retryAt      time.Time
	retryDelay   time.Duration
	budget       float64
}

func (m *keeperModel) runs() bool { return m.state == "best" || m.state == "second" }

func (m *keeperModel) usesBest() bool { return strings.HasPrefix(m.state, "best") }

// want is the model of a profiler that comes, and of what is due.
func (m *keeperModel) want(budget float64) {
	due := !m.retryAt.IsZero() && !time.Now().Before(m.retryAt)
	switch {
	case m.state == "idle" || due || budget != m.budget:
		m.retryAt, m.budget = time.Time{}, budget
		m.act("best", m.best)
	case m.runs():
	case m.usesBest():
		m.act("best", m.best)
	default:
		m.act("second", m.second)
	}
}

// act is the model of the start of an engine, and of a reading.
func (m *keeperModel) act(engine string, its mood) {
	if engine == "best" && m.panicked {
		its = panics
	}
	switch {
	case its == well:
		if m.state = engine; engine == "best" {
			m.retryDelay = 0
		}
	case its == busy:
		m.state = engine + "-paused"
	case engine == "second":
		m.state = "failed"
	default:
		m.panicked = its == panics
		if its == stalls {
			m.retryDelay = min(max(2*m.retryDelay, minRetryDelay), maxRetryDelay)
			m.retryAt = time.Now().Add(m.retryDelay)
		}
		m.act("second", m.second)
	}
}

// read is the model of a reading of the engine that runs.
func (m *keeperModel) read() {
	switch m.state {
	case "best":
		m.act("best", m.best)
	case "second":
		m.act("second", m.second)
	}
}

// The keeper does what a small model does, whatever happens to its engines and in whatever order
// profilers come and go.
func TestEngineKeeperModel(t *testing.T) {
	onBench(t, func(b *keeperBench) {
		rapid.Check(t, func(t *rapid.T) {
			b.tb = t
			b.reset()
			m := &keeperModel{state: "idle", best: well, second: well}
			someMood := rapid.SampledFrom([]mood{well, well, busy, stalls, breaks, panics})
			t.Repeat(map[string]func(*rapid.T){
				"best": func(t *rapid.T) {
					m.best = someMood.Draw(t, "mood")
					m.best.set(b.best)
				},
				"second": func(t *rapid.T) {
					m.second = someMood.Draw(t, "mood")
					m.second.set(b.second)
				},
				"sleep": func(t *rapid.T) {
					seconds := rapid.SampledFrom([]int{1, 2, 10, 100, 1000}).Draw(t, "seconds")
					time.Sleep(time.Duration(seconds) * time.Second)
				},
				"want": func(t *rapid.T) {
					budget := rapid.SampledFrom([]float64{.5, 1}).Draw(t, "budget")
					m.want(budget)
					b.check(b.keeper.want(10*time.Millisecond, budget))
				},
				"tick": func(*rapid.T) {
					if m.state == "idle" || m.state == "failed" {
						return // the hub has no profiler
					}
					ran := m.runs()
					if m.read(); !ran || m.runs() {
						m.want(m.budget)
					}
					b.check(b.keeper.tick())
				},
				"flush": func(*rapid.T) { m.read(); b.flush() },
				"leave": func(*rapid.T) {
					m.state, m.retryAt, m.retryDelay = "idle", time.Time{}, 0
					b.keeper.drop()
				},
				"": func(t *rapid.T) {
					if got := b.now(); got != m.state {
						t.Fatalf("the keeper is %s, want %s", got, m.state)
					}
				},
			})
		})
	})
}
