package main

import (
	"fmt"
	"strings"

	"github.com/perfline/perfline/internal/document"
)

// row writes a row of a table.
func row(b *strings.Builder, cells ...string) {
	fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
}

// share is a share as tables have it.
func share(n, of int) string { return fmt.Sprintf("%d of %d", n, of) }

// none is in a table where there is no figure.
const none = "–"

// kindsText is the table of the kinds of deaths.
func (r *results) kindsText() string {
	var b strings.Builder
	most := 0
	for _, k := range r.kinds {
		for _, o := range k.outcomes {
			most = max(most, o.most)
		}
	}
	fmt.Fprintf(&b, "Measured on %s. %d deaths under %.0f requests a second, with up to %d "+
		"requests open at the death. %d reports differ from the truth.\n\n", document.Machine(),
		r.deaths()-r.deathsAtBounds(), r.rate, most, r.wrong)
	row(&b, "death", "kind, from the parent", "kind, without the parent",
		"names the request that died", "open for 20 ms: reported", "open for less: reported",
		"invented", "finished: delivered", "of the last 5 ms: delivered", "spans twice")
	row(&b, "---", "---", "---", "---:", "---:", "---:", "---:", "---:", "---:", "---:")
	for _, k := range r.kinds {
		of, kinds, alone, named, s := len(k.outcomes), 0, 0, 0, outcome{}
		for _, o := range k.outcomes {
			kinds += one(o.kind == k.kind.kind)
			alone += one(o.alone == k.alone)
			named += one(o.crashed)
			s.open += o.open
			s.openMissed += o.openMissed
			s.young += o.young
			s.youngMissed += o.youngMissed
			s.invented += o.invented + o.twofold
			s.finished += o.finished
			s.lost += o.lost + o.incomplete
			s.lastFinished += o.lastFinished
			s.lastLost += o.lastLost + o.lastPieces
			s.twice += o.twice + o.again
		}
		names := none
		if k.crashes {
			names = share(named, of)
		}
		row(&b, k.what, fmt.Sprintf("%s: %s", k.kind.kind, share(kinds, of)),
			fmt.Sprintf("%s: %s", k.alone, share(alone, of)), names,
			share(s.open-s.openMissed, s.open), share(s.young-s.youngMissed, s.young),
			fmt.Sprint(s.invented), share(s.finished-s.lost, s.finished),
			share(s.lastFinished-s.lastLost, s.lastFinished), fmt.Sprint(s.twice))
	}
	return b.String()
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// boundsText is the table of the deaths at the bounds.
func (r *results) boundsText() string {
	var b strings.Builder
	row(&b, "bound", "items", "deaths", "in truth", "reported", "counted as left out", "balanced")
	row(&b, "---", "---", "---:", "---:", "---:", "---:", "---:")
	for _, x := range r.bounds {
		for i, first := range x.outcomes[0].books {
			s, balanced := book{}, 0
			for _, o := range x.outcomes {
				k := o.books[i]
				s.least += k.least
				s.most += k.most
				s.reported += k.reported
				s.leftOut += k.leftOut
				balanced += one(k.balances())
			}
			truth := fmt.Sprint(s.least)
			if s.most > s.least {
				truth += fmt.Sprintf(" to %d", s.most)
			}
			row(&b, x.what, first.what, fmt.Sprint(len(x.outcomes)), truth, fmt.Sprint(s.reported),
				fmt.Sprint(s.leftOut), share(balanced, len(x.outcomes)))
		}
	}
	return b.String()
}
