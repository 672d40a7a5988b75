package pyroscope

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/pprof/profile"
)

// The labels of samples that the server or its users know by name.
const (
	labelSpanID    = "span_id" // selects a span's profile; makes no series
	labelSpanName  = "span_name"
	labelTraceID   = "trace_id"
	labelProfileID = "profile_id" // the old name of span_id: the server renames it
)

// maxSampleLabels is how many labels a sample may have. Each value of each label makes a series.
const maxSampleLabels = 12

// A fitter changes the labels of samples so that the server takes them. For one unfit label the
// server refuses the whole profile.
type fitter struct {
	room     int  // labels that a sample may have, beside span_id
	traceIDs bool // trace_id is one
	spanIDs  bool // span_id is one
}

// newFitter returns a fitter for samples of a series with so many tags.
func newFitter(tags int, traceIDs bool) fitter {
	return fitter{room: min(maxSampleLabels-1, maxSeriesLabels-ownLabels-tags), traceIDs: traceIDs,
		spanIDs: true}
}

// fit changes the strings of p that the server does not take.
func (f fitter) fit(p *profile.Profile) {
	// Samples share their labels.
	done := map[uintptr]map[string][]string{}
	for _, s := range p.Sample {
		if len(s.Label) == 0 {
			continue
		}
		shared := reflect.ValueOf(s.Label).Pointer()
		labels, known := done[shared]
		if !known {
			labels = f.labels(s.Label)
			done[shared] = labels
		}
		s.Label = labels
	}
	for _, fn := range p.Function {
		fn.Name, fn.Filename = strings.ToValidUTF8(fn.Name, "\uFFFD"),
			strings.ToValidUTF8(fn.Filename, "\uFFFD")
	}
}

// labels returns the fit labels of a sample: the labels of its span, then as many of the program's
// own as there is room for, by name. If names become equal, the first one stays.
func (f fitter) labels(given map[string][]string) map[string][]string {
	fit := make(map[string][]string, min(len(given), f.room+1))
	add := func(name string, values []string) {
		if len(values) == 0 || fit[name] != nil {
			return
		}
		if v := fitValue(values[0]); v != "" {
			fit[name] = []string{v}
		}
	}
	if f.spanIDs {
		add(labelSpanID, given[labelSpanID])
	}
	full := len(fit) + f.room
	add(labelSpanName, given[labelSpanName])
	if f.traceIDs {
		add(labelTraceID, given[labelTraceID])
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if len(fit) >= full {
			break
		}
		if fitted := fitName(name); fitted != "" && !reservedTag[fitted] {
			add(fitted, given[name])
		}
	}
	return fit
}

// fitName returns a name that the server takes, made of name. It is empty if name is.
func fitName(name string) string {
	name = strings.Map(func(r rune) rune {
		if isLetter(r) || isDigit(r) {
			return r
		}
		return '_'
	}, name)
	if strings.HasPrefix(name, "__") { // the server's own
		name = "_" + strings.TrimLeft(name, "_")
	}
	if name != "" && isDigit(rune(name[0])) {
		name = "_" + name
	}
	return name[:min(len(name), maxNameBytes)] // ASCII by now
}

// fitValue returns value, cut to a length that the server takes, and as UTF-8.
func fitValue(value string) string {
	value = strings.ToValidUTF8(value, "\uFFFD")
	if len(value) <= maxValueBytes {
		return value
	}
	end := maxValueBytes
	for !utf8.RuneStart(value[end]) {
		end--
	}
	return value[:end]
}
