package viewers

import (
	"slices"
	"strconv"
	"time"

	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
)

// The categories of a Firefox file: of samples, by their markers, and of events. Viewers know "Idle"
// by its name, and the grey one as what has none.
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
)

const firefoxCategories = `[{"name":"Other","color":"grey","subcategories":["Other"]},` +
	`{"name":"Go","color":"yellow","subcategories":["Other"]},` +
	`{"name":"GC","color":"orange","subcategories":["Other"]},` +
	`{"name":"Syscall","color":"brown","subcategories":["Other"]},` +
	`{"name":"Idle","color":"transparent","subcategories":["Other"]},` +
	`{"name":"Request","color":"blue","subcategories":["Other"]},` +
	`{"name":"Call","color":"lightblue","subcategories":["Other"]},` +
	`{"name":"Measure","color":"green","subcategories":["Other"]},` +
	`{"name":"Mark","color":"purple","subcategories":["Other"]}]`

func markerCategory(m profile.Marker) int {
	switch m {
	case profile.Running:
		return categoryGo
	case profile.GC:
		return categoryGC
	case profile.Syscall:
		return categorySyscall
	case profile.Idle:
		return categoryIdle
	default:
		return categoryOther
	}
}

// markerTypes are the types of markers, each with what is shown of it, in the order of the file.
var markerTypes = [...]struct {
	of       sessions.EventType
	name     string // none of those that the Firefox Profiler knows as its own
	category int
	instant  bool
}{
	{sessions.Generic, "Event", categoryOther, false},
	{sessions.Request, "Request", categoryRequest, false},
	{sessions.Call, "Call", categoryCall, false},
	{sessions.Measure, "Measure", categoryMeasure, false},
	{sessions.Mark, "Mark", categoryMark, true},
	{sessions.Server, "Server", categoryMark, true},
	{sessions.GC, "GC", categoryGC, false},
}

// markerType is the index of an event's type in markerTypes; of an unknown one it is Generic's.
func markerType(t sessions.EventType) int {
	for i := range markerTypes {
		if markerTypes[i].of == t {
			return i
		}
	}
	return 0
}

// shared writes the tables that the threads refer to.
func (f *firefox) shared() {
	f.raw(`"shared":{"stackTable":{"prefix":`)
	n := writeList(f.jsonStream, slices.Values(f.stacks.list), func(b []byte, s stack) []byte {
		if s.parent < 0 {
			return append(b, "null"...)
		}
		return strconv.AppendInt(b, int64(s.parent), 10)
	})
	f.raw(`,"frame":`)
	writeList(f.jsonStream, slices.Values(f.stacks.list), func(b []byte, s stack) []byte {
		return strconv.AppendInt(b, int64(s.frame), 10)
	})
	f.tableEnd(n)
	f.raw(",\n" + `"frameTable":{"func":`)
	f.frameColumn(func(b []byte, r firefoxFrame) []byte { return strconv.AppendInt(b, int64(r.function), 10) })
	f.raw(`,"category":`)
	f.frameColumn(func(b []byte, r firefoxFrame) []byte { return strconv.AppendInt(b, int64(r.category), 10) })
	f.raw(`,"line":`)
	f.frameColumn(func(b []byte, r firefoxFrame) []byte { return appendLine(b, r.line) })
	for _, c := range []struct{ name, value string }{
		{"address", "-1"}, {"inlineDepth", "0"}, {"subcategory", "0"}, {"nativeSymbol", "null"}, {"innerWindowID", "null"}, {"column", "null"},
	} {
		f.raw(`,"` + c.name + `":`)
		f.frameColumn(func(b []byte, _ firefoxFrame) []byte { return append(b, c.value...) })
	}
	f.tableEnd(len(f.frames.list))
	f.raw(",\n" + `"funcTable":{"name":`)
	f.functionColumn(func(b []byte, c profile.Call) []byte {
		return strconv.AppendInt(b, int64(addText(&f.texts, c.Name)), 10)
	})
	f.raw(`,"source":`)
	f.functionColumn(func(b []byte, c profile.Call) []byte {
		if c.File == "" {
			return append(b, "null"...)
		}
		return strconv.AppendInt(b, int64(addText(&f.sources, c.File)), 10)
	})
	f.raw(`,"lineNumber":`)
	f.functionColumn(func(b []byte, c profile.Call) []byte { return appendLine(b, c.StartLine) })
	for _, c := range []struct{ name, value string }{{"isJS", "false"}, {"relevantForJS", "false"}, {"resource", "-1"}, {"columnNumber", "null"}} {
		f.raw(`,"` + c.name + `":`)
		f.functionColumn(func(b []byte, _ profile.Call) []byte { return append(b, c.value...) })
	}
	f.tableEnd(len(f.functions.list))
	f.raw(",\n" + `"sources":{"filename":`)
	writeList(f.jsonStream, slices.Values(f.sources.list), func(b []byte, file string) []byte {
		return strconv.AppendInt(b, int64(f.texts.add(file)), 10)
	})
	for _, c := range []struct{ name, value string }{{"id", "null"}, {"startLine", "1"}, {"startColumn", "1"}, {"sourceMapURL", "null"}} {
		f.raw(`,"` + c.name + `":`)
		writeList(f.jsonStream, slices.Values(f.sources.list), func(b []byte, _ string) []byte { return append(b, c.value...) })
	}
	f.tableEnd(len(f.sources.list))
	f.raw(",\n" + `"resourceTable":{"lib":[],"name":[],"host":[],"type":[],"length":0},`)
	f.raw("\n" + `"nativeSymbols":{"libIndex":[],"address":[],"name":[],"functionSize":[],"length":0},`)
	f.raw("\n" + `"stringArray":`)
	writeList(f.jsonStream, slices.Values(f.texts.list), appendText)
	f.raw("}")
}

func (f *firefox) frameColumn(cell func([]byte, firefoxFrame) []byte) {
	writeList(f.jsonStream, slices.Values(f.frames.list), cell)
}

func (f *firefox) functionColumn(cell func([]byte, profile.Call) []byte) {
	writeList(f.jsonStream, slices.Values(f.functions.list), cell)
}

func (f *firefox) tableEnd(length int) {
	f.raw(`,"length":`)
	f.number(length)
	f.raw("}")
}

func appendLine(b []byte, line int) []byte {
	if line <= 0 {
		return append(b, "null"...)
	}
	return strconv.AppendInt(b, int64(line), 10)
}

// meta writes what the file is.
func (f *firefox) meta() {
	interval := time.Millisecond // without samples nothing depends on it, but it must be positive
	if f.trace != nil && f.trace.Interval > 0 {
		interval = f.trace.Interval
	}
	f.raw(`"meta":{"version":` + strconv.Itoa(firefoxGecko) + `,"preprocessedProfileVersion":` + strconv.Itoa(firefoxProcessed))
	f.raw(`,"product":"perfline","processType":0,"stackwalk":1,"symbolicated":true,"symbolicationNotSupported":true`)
	f.raw(`,"usesOnlyOneStackType":true,"sourceCodeIsNotOnSearchfox":true,"keepProfileThreadOrder":true,"interval":`)
	f.millis(interval)
	f.raw(`,"startTime":`)
	f.millis(time.Duration(f.s.Started().Add(f.zero).UnixNano()))
	f.raw(`,"profilingStartTime":`)
	f.millis(-f.zero)
	f.raw(`,"profilingEndTime":`)
	f.millis(max(1, f.s.Length()) - f.zero) // the end counts as unknown if it is 0
	if f.timed {
		f.raw(`,"sampleUnits":{"time":"ms","eventDelay":"ms","threadCPUDelta":"ns"}`)
	}
	if len(f.timelines) > 0 {
		f.raw(`,"initialVisibleThreads":`)
		writeList(f.jsonStream, f.visible(), func(b []byte, i int) []byte { return strconv.AppendInt(b, int64(i), 10) })
	}
	f.raw(",\n" + `"categories":` + firefoxCategories + ",\n" + `"markerSchema":[`)
	for i := range f.schemas {
		if i > 0 {
			f.raw(",")
		}
		f.schema(i)
	}
	f.raw("],\n" + `"extra":[{"label":"Session","entries":[`)
	stats := f.s.Stats()
	for i, e := range []struct {
		label string
		n     uint64
	}{{"Entries", stats.Entries}, {"Entries dropped", stats.Dropped}, {"Entries lost", stats.Lost}, {"Samples", stats.Samples}, {"Samples lost", stats.Profiling.Lost}} {
		if i > 0 {
			f.raw(",")
		}
		f.raw(`{"label":"` + e.label + `","format":"integer","value":` + strconv.FormatUint(e.n, 10) + "}")
	}
	f.raw("]}]}")
}

// visible are the threads that a viewer shows at first. The Firefox Profiler would choose threads with
// many samples, and hide requests that waited.
func (f *firefox) visible() func(func(int) bool) {
	const most = 20
	return func(yield func(int) bool) {
		n := 0
		for i, tl := range f.timelines {
			if i > 0 && tl.Events+tl.Samples == 0 {
				continue
			}
			if n++; n > most || !yield(i) {
				return
			}
		}
	}
}
