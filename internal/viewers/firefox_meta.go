package viewers

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/perfline/perfline/internal/profiles"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
)

// The categories of a Firefox file: of samples, by their markers, and of events. Viewers know
// "Idle" by its name, and the grey one as what has none.
const (
	categoryOther = iota
	categoryGo
	categoryGC
	categorySyscall
	categoryIdle
	categoryRequest
	categoryCall
	categoryMeasure
	categoryMark
	categoryRunnable
	categoryWaiting
)

const firefoxCategories = `[{"name":"Other","color":"grey","subcategories":["Other"]},` +
	`{"name":"Go","color":"yellow","subcategories":["Other"]},` +
	`{"name":"GC","color":"orange","subcategories":["Other"]},` +
	`{"name":"Syscall","color":"brown","subcategories":["Other"]},` +
	`{"name":"Idle","color":"transparent","subcategories":["Other"]},` +
	`{"name":"Request","color":"blue","subcategories":["Other"]},` +
	`{"name":"Call","color":"lightblue","subcategories":["Other"]},` +
	`{"name":"Measure","color":"green","subcategories":["Other"]},` +
	`{"name":"Mark","color":"purple","subcategories":["Other"]},` +
	`{"name":"Runnable","color":"red","subcategories":["Other"]},` +
	`{"name":"Waiting","color":"lightred","subcategories":["Other"]}]`

// markerCategories are the categories of samples. Others are categoryOther.
var markerCategories = map[profile.Marker]int{
	profile.Ordinary: categoryGo, profile.GC: categoryGC, profile.Syscall: categorySyscall,
	profile.Idle: categoryIdle,
}

// markerTypes are the types of markers, by the types of events that are markers.
var markerTypes = [...]struct {
	name     string // none of those that the Firefox Profiler knows as its own
	category int
	phase    int
}{
	sessions.Request: {"Request", categoryRequest, phaseInterval},
	sessions.Call:    {"Call", categoryCall, phaseInterval},
	sessions.Measure: {"Measure", categoryMeasure, phaseInterval},
	sessions.Mark:    {"Mark", categoryMark, phaseInstant},
	sessions.Server:  {"Server", categoryMark, phaseInstant},
	sessions.GC:      {"GC", categoryGC, phaseInterval},
}

// The phases of a Firefox file's markers.
const (
	phaseInstant  = 0
	phaseInterval = 1
)

// shared writes the tables that the threads refer to.
func (f *firefox) shared() {
	f.raw(`"stackTable":{`)
	writeTable(f.jsonStream, slices.Values(f.stacks.list), []column[stack]{
		integers("prefix", func(s stack) int { return s.parent }),
		integers("frame", func(s stack) int { return s.frame }),
	})
	f.raw("},\n" + `"frameTable":{`)
	writeTable(f.jsonStream, slices.Values(f.frames.list), []column[firefoxFrame]{
		integers("func", func(r firefoxFrame) int { return r.function }),
		integers("category", func(r firefoxFrame) int { return r.category }),
		integers("line", func(r firefoxFrame) int { return cmp.Or(r.line, unknown) }),
		same[firefoxFrame]("address", "-1"), same[firefoxFrame]("inlineDepth", "0"),
		same[firefoxFrame]("subcategory", "0"),
		same[firefoxFrame]("nativeSymbol", "null"), same[firefoxFrame]("innerWindowID", "null"),
		same[firefoxFrame]("column", "null"),
	})
	f.raw("},\n" + `"funcTable":{`)
	writeTable(f.jsonStream, slices.Values(f.functions.list), []column[profile.Call]{
		integers("name", func(c profile.Call) int { return addText(&f.texts, c.Name) }),
		integers("source", f.source),
		integers("lineNumber", func(c profile.Call) int { return cmp.Or(c.StartLine, unknown) }),
		same[profile.Call]("isJS", "false"), same[profile.Call]("relevantForJS", "false"),
		same[profile.Call]("resource", "-1"), same[profile.Call]("columnNumber", "null"),
	})
	f.raw("},\n" + `"sources":{`)
	writeTable(f.jsonStream, slices.Values(f.sources.list), []column[string]{
		integers("filename", f.texts.add),
		same[string]("id", "null"), same[string]("startLine", "1"),
		same[string]("startColumn", "1"), same[string]("sourceMapURL", "null"),
	})
	f.raw("},\n" + `"resourceTable":{"lib":[],"name":[],"host":[],"type":[],"length":0},`)
	f.raw("\n" + `"nativeSymbols":{"libIndex":[],"address":[],"name":[],"functionSize":[],"length":0},`)
	f.raw("\n" + `"stringArray":`)
	writeList(f.jsonStream, slices.Values(f.texts.list), appendText)
}

// unknown is an index or a line that there is none of.
const unknown = -1

// source is the index of a function's file.
func (f *firefox) source(c profile.Call) int {
	if c.File == "" {
		return unknown
	}
	return addText(&f.sources, c.File)
}

// hiddenNote returns the note of a trace, which may be nil.
func hiddenNote(t *profile.Trace) string {
	if t == nil {
		return ""
	}
	return profiles.HiddenNote(t)
}

// maxVisible is how many threads a viewer shows at first.
const maxVisible = 20

// meta is what the file is.
func (f *firefox) meta() object {
	interval := time.Millisecond // without samples nothing depends on it, but it must be positive
	if f.trace != nil && f.trace.Interval > 0 {
		interval = f.trace.Interval
	}
	type entry struct {
		Label  string `json:"label"`
		Format string `json:"format"`
		Value  any    `json:"value"`
	}
	stats := f.s.Stats()
	entries := []entry{
		{"Entries", "integer", stats.Entries}, {"Entries dropped", "integer", stats.Dropped},
		{"Entries lost", "integer", stats.Lost},
		{"Samples", "integer", stats.Samples}, {"Samples lost", "integer", stats.Profiling.Lost},
	}
	if note := hiddenNote(f.trace); note != "" {
		entries = append(entries, entry{"Hidden", "string", note})
	}
	meta := object{
		"version": firefoxGecko, "preprocessedProfileVersion": firefoxProcessed,
		"product": "perfline", "processType": 0, "stackwalk": 1, "symbolicated": true,
		"symbolicationNotSupported": true,
		"usesOnlyOneStackType":      true, "sourceCodeIsNotOnSearchfox": true,
		"keepProfileThreadOrder": true,
		"interval":               observer.Milliseconds(interval),
		"startTime": observer.Milliseconds(
			time.Duration(f.s.Started().Add(f.zero).UnixNano())),
		"profilingStartTime": observer.Milliseconds(-f.zero),
		// the end counts as unknown if it is 0
		"profilingEndTime": observer.Milliseconds(max(1, f.s.Length()) - f.zero),
		"categories":       json.RawMessage(firefoxCategories),
		"markerSchema":     f.markerSchema(),
		"extra":            []object{{"label": subject(f.s), "entries": entries}},
	}
	if f.timed {
		meta["sampleUnits"] = object{"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"}
	}
	// The Firefox Profiler would choose threads with many samples, and hide requests that waited.
	var visible []int
	for i, tl := range f.timelines {
		if len(visible) < maxVisible && (i == 0 || tl.Events+tl.Samples > 0) {
			visible = append(visible, i)
		}
	}
	if visible != nil {
		meta["initialVisibleThreads"] = visible
	}
	return meta
}
