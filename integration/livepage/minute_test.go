package livepage

import (
	"testing"
	"time"

	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
)

// minutePage serves the page of a program whose profiler has the trace.
func minutePage(t *testing.T, trace *profile.Trace) string {
	t.Helper()
	tl := observer.NewTimeline(observer.TimelineOptions{})
	recorder := sessions.NewRecorder(sessions.Config{Timeline: tl, Policy: profiling.Policy{Remote: true}})
	t.Cleanup(func() {
		recorder.Close()
		tl.Close()
	})
	return listen(t, live.Handler(&waiting{recent: requests.NewRecent(requests.Config{}), sessions: recorder, minute: trace}, live.Config{})) + live.Prefix
}

// The last minute names the functions that the policy shows, and says how much it hides. Hostile names stay text.
func TestLastMinute(t *testing.T) {
	const hostile = `main.<img src=x onerror="document.title='broken'">` + "\u202e"
	b := profile.NewBuilder(nil)
	b.Add([]*profile.Call{{Name: hostile, File: "/src/<b>.go", Line: 3, StartLine: 1}, {Name: "main.main"}}, profile.Sample{ContextID: profile.None, Weight: 30 * time.Millisecond})
	b.Add([]*profile.Call{{Name: "example.com/hidden.F"}}, profile.Sample{ContextID: profile.None, Weight: 10 * time.Millisecond})
	trace := b.Trace(nil)
	trace.Engine, trace.Interval, trace.Stopped = profile.EngineCPU, 10*time.Millisecond, time.Minute
	p := open(t, minutePage(t, trace)+"#/profile", View{})
	p.wait(`document.querySelector("#last-minute")`)
	p.click("#last-minute")
	p.wait(`document.querySelectorAll("#flame [role=treeitem]").length === 4 && document.querySelector("h1").innerText === "Profile of the last minute"`)
	p.wait(`document.querySelector(".hidden-functions").innerText.startsWith("[no stack] is 25.0 % of the time. Config.Sessions.Policy.Modules or the profiler's Modules hide functions of some modules")`)
	for _, tab := range []string{"top", "sandwich", "difference", "flame"} {
		p.click("#tab-" + tab)
		p.wait(`document.querySelector("#panel").ariaBusy !== "true" && document.querySelector("#tab-` + tab + `").ariaSelected === "true"`)
		if eval[bool](p, `document.title === "broken" || Boolean(document.querySelector("main img")) || document.querySelector("main").innerText.includes("example.com/hidden") || document.querySelector("main").innerText.includes("\u202e")`) {
			t.Errorf("the tab %s shows markup, a hidden function, or an invisible character", tab)
		}
	}
	p.wait(`document.querySelector("#flame [role=treeitem]")`)
	eval[bool](p, `(document.querySelector("#flame [data-node='2']").click(), true)`)
	p.wait(`document.querySelector("#flame-about a")`)
	eval[bool](p, `(document.querySelector("#flame-about a").click(), true)`)
	p.wait(`document.querySelector("#sandwich-about")?.innerText.startsWith("main.<img")`)
}

// While the profiler has no samples yet, the page says that they will come.
func TestLastMinuteWithoutSamples(t *testing.T) {
	p := open(t, minutePage(t, profile.Join())+"#/profile?last=minute", View{})
	p.wait(`document.querySelector("#minute-waits") && document.querySelector("#flame-empty") && document.querySelector("#refresh")`)
}

// Without a profiler that runs all the time, the page reports that and offers to record a minute.
func TestNoLastMinute(t *testing.T) {
	p := openWithFaults(t, minutePage(t, nil)+"#/profile?last=minute", View{}) // whose missing answer counts as a fault
	p.wait(`document.querySelector("#error")?.innerText.startsWith("no profiler runs all the time") && document.querySelector("#record-minute")`)
	p.click("#record-minute")
	p.wait(`location.hash === "#/sessions/1" && document.querySelector("#session-state .state")?.innerText === "recording" && document.querySelector("#session-facts").innerText.includes("of 1 min 0 s")`)
}
