package viewers

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/perfline/perfline/internal/profiles"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
)

// The categories of samples and events in a Firefox file. Viewers recognize "Idle" by its name, and
// the grey category as the default.
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

// markerCategories are the categories of samples. Other samples are of categoryOther.
var markerCategories = map[profile.Marker]int{
	profile.Ordinary: categoryGo, profile.GC: categoryGC, profile.Syscall: categorySyscall,
	profile.Idle: categoryIdle,
}

// markerTypes are the types of markers, by type of event.
var markerTypes = [...]struct {
	name     string // not a type of the Firefox Profiler itself
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
		constant[firefoxFrame]("address", "-1"), constant[firefoxFrame]("inlineDepth", "0"),
		constant[firefoxFrame]("subcategory", "0"), constant[firefoxFrame]("nativeSymbol", "null"),
		constant[firefoxFrame]("innerWindowID", "null"), constant[firefoxFrame]("column", "null"),
	})
	f.raw("},\n" + `"funcTable":{`)
	writeTable(f.jsonStream, slices.Values(f.functions.list), []column[profile.Call]{
		integers("name", func(c profile.Call) int { return addText(&f.texts, c.Name) }),
		integers("source", f.source),
		integers("lineNumber", func(c profile.Call) int { return cmp.Or(c.StartLine, unknown) }),
		constant[profile.Call]("isJS", "false"), constant[profile.Call]("relevantForJS", "false"),
		constant[profile.Call]("resource", "-1"), constant[profile.Call]("columnNumber", "null"),
	})
	f.raw("},\n" + `"sources":{`)
	writeTable(f.jsonStream, slices.Values(f.sources.list), []column[string]{
		integers("filename", f.texts.add),
		constant[string]("id", "null"), constant[string]("startLine", "1"),
		constant[string]("startColumn", "1"), constant[string]("sourceMapURL", "null"),
	})
	f.raw("},\n" + `"resourceTable":{"lib":[],"name":[],"host":[],"type":[],"length":0},`)
	f.raw("\n" + `"nativeSymbols":{"libIndex":[],"address":[],"name":[],"functionSize":[],"length":0},`)
	f.raw("\n" + `"stringArray":`)
	writeList(f.jsonStream, slices.Values(f.texts.list), appendText)
}

const unknown = -1 // index or line

// source returns the index of a function's file.
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

const maxVisible = 20 // threads that a viewer shows at first

// meta describes the file.
func (f *firefox) meta() object {
	interval := time.Millisecond // must be positive, also without samples
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
	start := time.Duration(f.s.Started().Add(f.zero).UnixNano())
	meta := object{
		"version": firefoxGecko, "preprocessedProfileVersion": firefoxProcessed,
		"product": "perfline", "processType": 0, "stackwalk": 1, "symbolicated": true,
		"symbolicationNotSupported": true,
		"usesOnlyOneStackType":      true, "sourceCodeIsNotOnSearchfox": true,
		"keepProfileThreadOrder": true,
		"interval":               record.Milliseconds(interval),
		"startTime":              record.Milliseconds(start),
		"profilingStartTime":     record.Milliseconds(-f.zero),
		// Viewers read an end of 0 as unknown.
		"profilingEndTime": record.Milliseconds(max(1, f.s.Length()) - f.zero),
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
