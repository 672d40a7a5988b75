package exporter

// A Count is one of perfline's own counts: what became of something on its way.
type Count struct {
	Group string // what is counted, by the name of its metric: "perfline.entries"
	Kind  string // the type of entry, in the group of entries: "mark"
	Name  string // what became of it, the metric's perfline.outcome: "overflow"
	What  string // the meaning, for the page: "dropped at the full timeline"
	N     uint64
	Lost  bool // it should be 0: what is counted is gone
	Now   bool // how many there are, not how many there were since the start
}
