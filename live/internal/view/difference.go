package view

import "github.com/perfline/perfline/internal/profiles"

// A Difference compares two profiles. Amounts are milliseconds a request, or shares from 0 to 1.
type Difference struct {
	PerRequest bool                 `json:"perRequest"` // amounts are milliseconds a request
	A          profileHead          `json:"a"`          // the profile
	B          profileHead          `json:"b"`          // the profile of the parameter `with`
	Table      []functionDifference `json:"table"`      // the largest change of Self first
	TableCut   int                  `json:"tableCut"`   // functions left out of the table
	Nodes      []differenceNode     `json:"nodes"`      // as in a flame graph, by A plus B
	Cut        int                  `json:"cut"`        // nodes left out
	Functions  []functionRow        `json:"functions"`  // of Table and Nodes; without times
}

// An amountPair holds the amounts of the two profiles.
type amountPair struct {
	A float64 `json:"a"` // in the profile
	B float64 `json:"b"` // in the other profile
}

type functionDifference struct {
	Function int        `json:"function"` // index in Functions
	Self     amountPair `json:"self"`     // in the function itself
	Total    amountPair `json:"total"`    // in the function and its callees
}

type differenceNode struct {
	Parent   int        `json:"parent"`   // index of the caller; -1 for the first node
	Function int        `json:"function"` // index in Functions
	Self     amountPair `json:"self"`     // in the call itself
	Total    amountPair `json:"total"`    // in the call and its calls
}

// NewDifference compares the profile a with b.
func NewDifference(a, b *Profile) Difference {
	compared := profiles.NewDifference(
		profiles.Side{Trace: a.trace, Samples: a.samples, Requests: a.requests},
		profiles.Side{Trace: b.trace, Samples: b.samples, Requests: b.requests})
	var all []profiles.Function
	for i := range compared.Functions {
		all = append(all, compared.Functions[i].Function)
	}
	functions := newFunctionIndex(all)
	d := Difference{PerRequest: compared.PerRequest, A: a.head(), B: b.head(),
		Table: []functionDifference{}}
	n := min(len(compared.Functions), maxFunctions)
	d.TableCut = len(compared.Functions) - n
	for _, f := range compared.Functions[:n] {
		d.Table = append(d.Table, functionDifference{functions.index(f.Name),
			amountPair{f.A.Self, f.B.Self}, amountPair{f.A.Total, f.B.Total}})
	}
	cut := largest(compared.Tree,
		func(n *profiles.NodeDifference) []*profiles.NodeDifference { return n.Calls },
		(*profiles.NodeDifference).Both,
		func(n *profiles.NodeDifference, parent int) {
			d.Nodes = append(d.Nodes, differenceNode{parent, functions.index(n.Name),
				amountPair{n.A.Self, n.B.Self}, amountPair{n.A.Total, n.B.Total}})
		})
	d.Cut, d.Functions = cut.nodes, functions.rows
	return d
}
