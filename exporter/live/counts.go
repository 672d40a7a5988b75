package live

import "github.com/perfline/perfline/exporter"

// countRow is one of perfline's own counts.
type countRow struct {
	Group string `json:"group"`
	Kind  string `json:"kind,omitempty"`
	Name  string `json:"name"`
	What  string `json:"what"`
	N     uint64 `json:"n"`
	Lost  bool   `json:"lost,omitempty"` // should be 0
	Now   bool   `json:"now,omitempty"`
}

// counts returns the source's counts, and the counts of requests and sessions that the page shows.
func (h *handler) counts() []countRow {
	recent := h.source.Recent().Stats()
	all := append(h.source.Counts(),
		exporter.Count{Group: "perfline.recent", Name: "requests", N: recent.Requests, What: "requests that ended"},
		exporter.Count{Group: "perfline.recent", Name: "background", N: recent.Background, What: "root spans that are no request: calls and measures without one"},
		exporter.Count{Group: "perfline.recent", Name: "spans_dropped", N: recent.SpansDropped, Lost: true, What: "spans over the limit of their trace, not on this page"},
		exporter.Count{Group: "perfline.recent", Name: "abandoned", N: recent.Abandoned, Lost: true, What: "traces let go before their request ended, not on this page"},
		exporter.Count{Group: "perfline.recent", Name: "evicted", N: recent.Evicted, Lost: true, What: "requests let go early, because their spans had too many bytes"},
		exporter.Count{Group: "perfline.recent", Name: "bytes", N: recent.Bytes, Now: true, What: "bytes of memory for spans"})
	if h.recorder != nil {
		s := h.recorder.Stats()
		all = append(all,
			exporter.Count{Group: "perfline.sessions", Name: "started", N: s.Started, What: "sessions that began"},
			exporter.Count{Group: "perfline.sessions", Name: "stopped", N: s.Stopped, What: "sessions that were stopped"},
			exporter.Count{Group: "perfline.sessions", Name: "released", N: s.Released, What: "sessions that somebody released"},
			exporter.Count{Group: "perfline.sessions", Name: "expired", N: s.Expired, What: "sessions forgotten after their time"},
			exporter.Count{Group: "perfline.sessions", Name: "overlong", N: s.Overlong, What: "sessions that stopped by themselves at their greatest length"},
			exporter.Count{Group: "perfline.sessions", Name: "refused", N: s.Refused, What: "starts that failed"})
	}
	rows := make([]countRow, 0, len(all))
	for _, c := range all {
		rows = append(rows, countRow(c))
	}
	return rows
}
