package otlpprofiles

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/perfline/perfline/internal/text"
)

// Bounds of the labels that a program sets with runtime/pprof, which become attributes of samples.
const (
	maxLabels     = 12   // of a sample, with the span's name
	maxLabelKey   = 256  // bytes
	maxLabelValue = 2048 // bytes
)

// ofSpans are the labels of perfline's spans. The samples have links in their place.
var ofSpans = map[string]bool{"span_id": true, "trace_id": true, "profile_id": true}

// addLabel adds a label to the attributes of a sample, as long as there is room.
func (e *encoder) addLabel(key string, value attribute.Value, unit string) {
	if len(e.indices) < maxLabels && key != "" && !ofSpans[key] {
		e.addAttribute(text.Cut(key, maxLabelKey), value, unit)
	}
}

func labelValue(s string) attribute.Value {
	return attribute.StringValue(
		text.Cut(s, maxLabelValue))
}
