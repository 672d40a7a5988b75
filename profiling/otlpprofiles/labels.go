package otlpprofiles

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/perfline/perfline/internal/text"
)

// Bounds of the program's pprof labels, which become attributes of samples.
const (
	maxLabels     = 12   // of a sample, span_name included
	maxLabelKey   = 256  // bytes
	maxLabelValue = 2048 // bytes
)

// spanLabels are the labels of perfline's spans. Samples have links instead.
var spanLabels = map[string]bool{"span_id": true, "trace_id": true, "profile_id": true}

// addLabel adds a label to the attributes of a sample, up to maxLabels.
func (e *encoder) addLabel(key string, value attribute.Value, unit string) {
	if len(e.indices) < maxLabels && key != "" && !spanLabels[key] {
		e.addAttribute(text.Cut(key, maxLabelKey), value, unit)
	}
}

func labelValue(s string) attribute.Value {
	return attribute.StringValue(text.Cut(s, maxLabelValue))
}
