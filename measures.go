package perfline

import (
	"cmp"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
)

// measuresGroup begins the names of the counts of measures in the histogram.
const measuresGroup = "perfline.measures"

// startMeasures makes the histogram of measures that c asks for. The meter provider is the global
// one by now.
func (p *Pipeline) startMeasures(c Config) {
	if len(c.Measures.Names) == 0 {
		return
	}
	c.Measures.Timeline = cmp.Or(c.Measures.Timeline, c.Timeline)
	var err error
	if p.measures, err = bridge.NewMeasureHistogram(c.Measures); err != nil {
		c.Logger.Warn("perfline: measures are in no histogram", "error", err)
	}
}

// measureCounts lists the counts of the histogram.
func measureCounts(s bridge.MeasureStats) []exporter.Count {
	return []exporter.Count{
		{Group: measuresGroup, Name: "overflow", N: s.Overflow,
			What: "measures that are in the histogram without their attributes: too many series"},
		{Group: measuresGroup, Name: "panicked", N: s.Panics, Lost: true,
			What: "measures that the histogram lost: the meter provider panicked"},
		{Group: measuresGroup + ".series", N: s.Series, Now: true,
			What: "series of the histogram of measures"},
	}
}
