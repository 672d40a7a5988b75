package pyroscope

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/perfline/perfline/internal/text"
)

// The labels of samples with a meaning for the server or its users.
const (
	labelSpanID    = "span_id" // selects a span's profile; makes no series
	labelSpanName  = "span_name"
	labelTraceID   = "trace_id"
	labelProfileID = "profile_id" // the old name of span_id: the server renames it
)

// maxSampleLabels bounds the labels of a sample. Each value of each label makes a series.
const maxSampleLabels = 12

// A fitter makes the labels of samples acceptable for the server, which would refuse a whole
// profile for one wrong label.
type fitter struct {
	room     int  // labels that a sample may have beside span_id
	traceIDs bool // keeps trace_id
	spanIDs  bool // keeps span_id
}

// newFitter returns a fitter for samples of a series with a number of tags.
func newFitter(tags int, traceIDs bool) fitter {
	room := min(maxSampleLabels-1, maxSeriesLabels-ownLabels-tags)
	return fitter{room: room, traceIDs: traceIDs, spanIDs: true}
}

// fit makes the strings of p acceptable for the server.
func (f fitter) fit(p *profile.Profile) {
	done := map[uintptr]map[string][]string{} // samples share maps of labels
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
		fn.Name, fn.Filename = text.Valid(fn.Name), text.Valid(fn.Filename)
	}
}

// labels returns the labels of a sample for the server: the span's labels, then the program's
// labels by name, up to f.room. If names become equal, the first one stays.
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

// fitName returns name with characters that the server accepts. The result is empty if name is.
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

// fitValue returns value as UTF-8, cut to the server's limit.
func fitValue(value string) string { return text.Start(text.Valid(value), maxValueBytes) }
