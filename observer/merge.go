package observer

import (
	"cmp"
	"slices"
)

// A run is a range of a pass that came from one inlet.
type run struct{ from, to int }

// merge puts runs, which follow each other from the beginning of r.refs, in the
// order of recording. Within one inlet that is the order of writing, but for
// goroutines that read the clock and were overtaken before they wrote; between
// inlets the clock decides. Entries of the same moment keep their place. It uses
// up runs. r.mu is held.
func (r *root) merge(runs []run) {
	if len(runs) < 2 {
		return
	}
	for _, run := range runs {
		settle(r.refs[run.from:run.to])
	}
	r.spare = append(r.spare[:0], r.refs...)
	for len(runs) > 1 {
		left := runs[:0]
		for i := 0; i < len(runs); i += 2 {
			a, b := runs[i], run{runs[i].to, runs[i].to}
			if i+1 < len(runs) {
				b = runs[i+1]
			}
			mergeTwo(r.spare[a.from:b.to], r.refs[a.from:a.to], r.refs[b.from:b.to])
			left = append(left, run{a.from, b.to})
		}
		runs = left
		r.refs, r.spare = r.spare, r.refs
	}
}

func mergeTwo(to, a, b []ref) {
	for i := range to {
		if len(b) == 0 || (len(a) > 0 && a[0].record().at <= b[0].record().at) {
			to[i], a = a[0], a[1:]
		} else {
			to[i], b = b[0], b[1:]
		}
	}
}

// settle sorts a run, which is nearly always in order.
func settle(refs []ref) {
	byTime := func(a, b ref) int { return cmp.Compare(a.record().at, b.record().at) }
	if !slices.IsSortedFunc(refs, byTime) {
		slices.SortStableFunc(refs, byTime)
	}
}
