package bridge

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/perfline/perfline/observer"
)

// MeasureConfig says which measures are in the histogram perfline.measure.duration, and which of their attributes. The zero
// value makes no histogram.
type MeasureConfig struct {
	// Names are the names of the measures: "stock.query" is one name, "stock.*" stands for all names that begin with
	// "stock.", and "*" for all. Measures with other names are not in the histogram.
	Names []string

	// Attributes are the keys of the attributes that the histogram keeps, as span attributes have them: "req.method" for the member
	// method of the group req. Each combination of values is a series, so only keys with few values belong here. nil means none:
	// there is one series for each name, and one more for each type of error. Lists and bytes are left out.
	Attributes []string

	// MaxSeries is the number of series that the histogram has at most, up to 2000. Measures that would need more go to one series,
	// whose only attribute is otel.metric.overflow, true. It is one of the number. 0 means 200: each series costs the SDK about
	// 3 KB, and Prometheus stores 19 time series for it.
	MaxSeries int

	// MeterProvider makes the histogram. nil means otel.GetMeterProvider().
	MeterProvider metric.MeterProvider

	// Timeline is the process timeline whose measures count. nil means observer.ProcessTimeline().
	Timeline *observer.Timeline
}

const (
	defaultSeries = 200
	maxSeries     = 2000 // as in the SDK, which has a bound of its own
)

// Attributes of the histogram that its own code sets.
const (
	measureName     = "perfline.measure.name"
	measureFailure  = string(semconv.ErrorTypeKey)
	measureOverflow = "otel.metric.overflow"
)

// Check returns an error that names the first wrong field.
func (c MeasureConfig) Check() error {
	for i, name := range c.Names {
		if before, _ := strings.CutSuffix(name, "*"); name == "" || !utf8.ValidString(name) || strings.Contains(before, "*") {
			return fmt.Errorf("MeasureConfig.Names[%d] %q: must be a name in UTF-8, with * at its end at most", i, name)
		}
	}
	for i, key := range c.Attributes {
		if key == "" || !utf8.ValidString(key) {
			return fmt.Errorf("MeasureConfig.Attributes[%d] %q: must be a key in UTF-8", i, key)
		}
		if key == measureName || key == measureFailure || key == measureOverflow {
			return fmt.Errorf("MeasureConfig.Attributes[%d] %q: must be another key, because the histogram sets this one itself", i, key)
		}
		if slices.Contains(c.Attributes[:i], key) {
			return fmt.Errorf("MeasureConfig.Attributes[%d] %q: must not be listed twice", i, key)
		}
	}
	if c.MaxSeries < 0 || c.MaxSeries > maxSeries {
		return fmt.Errorf("MeasureConfig.MaxSeries %d: must be from 1 to %d, or 0 for %d", c.MaxSeries, maxSeries, defaultSeries)
	}
	return nil
}
