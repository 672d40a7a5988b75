package live

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

// counts returns the source's counts.
func (h *handler) counts() []countRow {
	all := h.source.Counts()
	rows := make([]countRow, 0, len(all))
	for _, c := range all {
		rows = append(rows, countRow(c))
	}
	return rows
}
