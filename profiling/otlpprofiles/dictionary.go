package otlpprofiles

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/perfline/perfline/internal/otlpwire"
	"github.com/perfline/perfline/internal/text"
)

// Tags of opentelemetry/proto/profiles/v1development/profiles.proto: the number of a field and its
// wire type.
const (
	dictionaryMappings   = 1<<3 | otlpwire.Prefixed
	dictionaryLocations  = 2<<3 | otlpwire.Prefixed
	dictionaryFunctions  = 3<<3 | otlpwire.Prefixed
	dictionaryLinks      = 4<<3 | otlpwire.Prefixed
	dictionaryStrings    = 5<<3 | otlpwire.Prefixed
	dictionaryAttributes = 6<<3 | otlpwire.Prefixed
	dictionaryStacks     = 7<<3 | otlpwire.Prefixed

	mappingFilename   = 4<<3 | otlpwire.Varint
	mappingAttributes = 5<<3 | otlpwire.Prefixed

	locationMapping    = 1<<3 | otlpwire.Varint
	locationLines      = 3<<3 | otlpwire.Prefixed
	locationAttributes = 4<<3 | otlpwire.Prefixed

	lineFunction = 1<<3 | otlpwire.Varint
	lineLine     = 2<<3 | otlpwire.Varint

	functionName      = 1<<3 | otlpwire.Varint
	functionFilename  = 3<<3 | otlpwire.Varint
	functionStartLine = 4<<3 | otlpwire.Varint

	linkTraceID = 1<<3 | otlpwire.Prefixed
	linkSpanID  = 2<<3 | otlpwire.Prefixed

	attributeKey   = 1<<3 | otlpwire.Varint
	attributeValue = 2<<3 | otlpwire.Prefixed
	attributeUnit  = 3<<3 | otlpwire.Varint

	stackLocations = 1<<3 | otlpwire.Prefixed
)

// A dictionary is the ProfilesDictionary of a request. Its methods return indices. Index 0 of each
// table is the zero value.
type dictionary struct {
	mappings, locations, functions, links, texts, attributes, stacks table

	program program
	mapping int32 // the program's; 0 before the first location
	goFrame int32 // the attribute of Go's frames; 0 before the first one

	scratch []byte // memory for the next entry
}

// A line is a function and a line number in a location.
type line struct {
	name, file string
	start      int64 // the line where the function begins; 0 if unknown, as line
	line       int64
}

func newDictionary(of program) dictionary {
	d := dictionary{
		mappings: table{tag: dictionaryMappings}, locations: table{tag: dictionaryLocations},
		functions: table{tag: dictionaryFunctions}, links: table{tag: dictionaryLinks},
		texts: table{tag: dictionaryStrings}, attributes: table{tag: dictionaryAttributes},
		stacks: table{tag: dictionaryStacks}, program: of,
	}
	d.reset()
	return d
}

// tables returns all tables, in the order of their fields.
func (d *dictionary) tables() [7]*table {
	return [...]*table{&d.mappings, &d.locations, &d.functions, &d.links, &d.texts, &d.attributes,
		&d.stacks}
}

// reset leaves each table with the zero value at index 0.
func (d *dictionary) reset() {
	d.mapping, d.goFrame = 0, 0
	for _, t := range d.tables() {
		t.reset()
		if t != &d.links {
			number(t, "")
		}
	}
	d.link(trace.TraceID{}, trace.SpanID{}) // with all bytes, which some decoders require
}

// size returns the number of encoded bytes.
func (d *dictionary) size() (n int) {
	for _, t := range d.tables() {
		n += len(t.data)
	}
	return n
}

func (d *dictionary) text(s string) int32 { return number(&d.texts, text.Valid(s)) }

// attribute returns the index of an attribute. key is an index, and unit may be "".
func (d *dictionary) attribute(key int32, value attribute.Value, unit string) int32 {
	b := appendNumber(d.scratch[:0], attributeKey, int64(key))
	b = otlpwire.AppendValue(b, attributeValue, value, 0)
	b = appendNumber(b, attributeUnit, int64(d.text(unit)))
	d.scratch = b
	return number(&d.attributes, b)
}

func (d *dictionary) link(t trace.TraceID, s trace.SpanID) int32 {
	b := append(otlpwire.AppendLength(d.scratch[:0], linkTraceID, len(t)), t[:]...)
	b = append(otlpwire.AppendLength(b, linkSpanID, len(s)), s[:]...)
	d.scratch = b
	return number(&d.links, b)
}

func (d *dictionary) function(l line) int32 {
	name, file := d.text(l.name), d.text(l.file)
	b := appendNumber(d.scratch[:0], functionName, int64(name))
	b = appendNumber(b, functionFilename, int64(file))
	b = appendNumber(b, functionStartLine, l.start)
	d.scratch = b
	return number(&d.functions, b)
}

// location returns the location of lines. Each line but the last one was inlined into the next.
func (d *dictionary) location(lines ...line) int32 {
	if d.mapping == 0 {
		d.mapping = d.programMapping()
	}
	var functions [8]int32
	ids, isGo := functions[:0], false
	for _, l := range lines {
		ids = append(ids, d.function(l))
		isGo = isGo || strings.HasSuffix(l.file, ".go") || strings.HasSuffix(l.file, ".s")
	}
	frame := int32(0)
	if isGo {
		frame = d.goAttribute()
	}
	b := appendNumber(d.scratch[:0], locationMapping, int64(d.mapping))
	for i, l := range lines {
		var at int
		b, at = otlpwire.BeginMessage(b, locationLines)
		b = appendNumber(b, lineFunction, int64(ids[i]))
		b = appendNumber(b, lineLine, l.line)
		b = otlpwire.EndMessage(b, at)
	}
	if frame != 0 {
		b = appendIndices(b, locationAttributes, frame)
	}
	d.scratch = b
	return number(&d.locations, b)
}

func (d *dictionary) goAttribute() int32 {
	if d.goFrame == 0 {
		kv := semconv.ProfileFrameTypeGo
		d.goFrame = d.attribute(d.text(string(kv.Key)), kv.Value, "")
	}
	return d.goFrame
}

// programMapping returns the mapping of all locations.
func (d *dictionary) programMapping() int32 {
	var indices []int32
	for _, kv := range d.program.attributes {
		indices = append(indices, d.attribute(d.text(string(kv.Key)), kv.Value, ""))
	}
	b := appendNumber(d.scratch[:0], mappingFilename, int64(d.text(d.program.file)))
	b = appendIndices(b, mappingAttributes, indices...)
	d.scratch = b
	return number(&d.mappings, b)
}

// stack returns the stack of locations, innermost first.
func (d *dictionary) stack(locations []int32) int32 {
	d.scratch = appendIndices(d.scratch[:0], stackLocations, locations...)
	return number(&d.stacks, d.scratch)
}

// appendNumber appends a numeric field, unless n is 0.
func appendNumber(b []byte, tag uint64, n int64) []byte {
	if n == 0 {
		return b
	}
	return protowire.AppendVarint(append(b, byte(tag)), uint64(n)) //nolint:gosec // as protobuf has it
}

// appendIndices appends a packed field of indices, unless there are none.
func appendIndices(b []byte, tag uint64, indices ...int32) []byte {
	if len(indices) == 0 {
		return b
	}
	b, at := otlpwire.BeginMessage(b, tag)
	for _, i := range indices {
		b = protowire.AppendVarint(b, uint64(i)) //nolint:gosec // not negative
	}
	return otlpwire.EndMessage(b, at)
}
