package exporter

// A Count is a number of items with the same outcome, such as delivered spans or dropped marks.
type Count struct {
	Group string // the metric of the counted items: "perfline.entries"
	Kind  string // the type of entry, only in the group of entries: "mark"
	Name  string // the outcome, the metric's perfline.outcome: "overflow"
	What  string // the meaning, for the page: "dropped at the full timeline"
	N     uint64
	Lost  bool // the items are lost: N should be 0
	Now   bool // N is a current number, not a total since the start
}
