package live

import (
	"context"
	"net/url"

	"github.com/perfline/perfline/internal/profiles"
)

// A difference compares two profiles: its amounts are milliseconds of a request, or shares from 0
// to 1.
type difference struct {
	// amounts are milliseconds of a request, else shares
	PerRequest bool                 `json:"perRequest"`
	A          profileHead          `json:"a"`        // the profile
	B          profileHead          `json:"b"`        // the other profile, of the parameter `with`
	Table      []functionDifference `json:"table"`    // the largest change of time in itself first
	TableCut   int                  `json:"tableCut"` // functions left out of the table
	// as in a flame graph, by the sum of both sides
	Nodes     []differenceNode `json:"nodes"`
	Cut       int              `json:"cut"`       // nodes left out
	Functions []functionRow    `json:"functions"` // of Table and Nodes; without times
}

// An amountPair is how much of something ran in A and in B.
type amountPair struct {
	A float64 `json:"a"` // in the profile
	B float64 `json:"b"` // in the other one
}

type functionDifference struct {
	Function int        `json:"function"` // index
	Self     amountPair `json:"self"`     // in the function itself
	Total    amountPair `json:"total"`    // in it and in its callees
}

type differenceNode struct {
	Parent   int        `json:"parent"`   // index; -1 of the first
	Function int        `json:"function"` // index
	Self     amountPair `json:"self"`     // in the call itself
	Total    amountPair `json:"total"`    // in it and in its calls
}

// newDifference is the view of a profile, A, beside another one, B. The parameter with has the
// parameters of B, encoded as a query.
func newDifference(ctx context.Context, h *handler, a *profiled, query url.Values) (any, error) {
	other, err := url.ParseQuery(query.Get("with"))
	if err != nil {
		return nil, err
	}
	if query.Has("running") {
		other.Set("running", "")
	}
	load, err := h.profileOf(other)
	if err != nil {
		return nil, err
	}
	b := load(ctx)
	compared := profiles.NewDifference(
		profiles.Side{Trace: a.trace, Samples: a.samples, Requests: a.requests},
		profiles.Side{Trace: b.trace, Samples: b.samples, Requests: b.requests})
	var all []profiles.Function
	for i := range compared.Functions {
		all = append(all, compared.Functions[i].Function)
	}
	functions := newFunctionIndex(all)
	d := difference{PerRequest: compared.PerRequest, A: a.head(), B: b.head(),
		Table: []functionDifference{}}
	for i := range compared.Functions {
		f := &compared.Functions[i]
		if i == maxFunctions {
			d.TableCut = len(compared.Functions) - i
			break
		}
		d.Table = append(d.Table,
			functionDifference{functions.of(f.Name), amountPair{f.A.Self, f.B.Self},
				amountPair{f.A.Total, f.B.Total}})
	}
	cut := largest(compared.Tree,
		func(n *profiles.NodeDifference) []*profiles.NodeDifference { return n.Calls },
		(*profiles.NodeDifference).Both,
		func(n *profiles.NodeDifference, parent int) {
			d.Nodes = append(d.Nodes,
				differenceNode{parent, functions.of(n.Name), amountPair{n.A.Self, n.B.Self},
					amountPair{n.A.Total, n.B.Total}})
		})
	d.Cut, d.Functions = cut.nodes, functions.rows
	return d, nil
}
