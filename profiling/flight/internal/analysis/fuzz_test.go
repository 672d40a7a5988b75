package analysis_test

import (
	"bytes"
	"testing"

	"github.com/perfline/perfline/profiling/flight/internal/analysis"
	"github.com/perfline/perfline/profiling/states"
)

// FuzzRead begins with a real trace. Read returns an error for traces that are cut or malformed, and what it
// returns adds up.
func FuzzRead(f *testing.F) {
	var requests []*request
	lastID.Store(0)
	data := record(f, func() {
		requests = play([][]step{
			{{what: 0, children: []step{{what: 4}, {what: 3}}}, {what: 2, children: []step{{what: 3}}}, {what: 7}, {what: 9, children: []step{{what: 9}, {what: 4}}}, {what: 10}},
			{{what: 1, children: []step{{what: 8}, {what: 5}}}, {what: 3}, {what: 6}},
		})
		requests = append(requests, start("GET /unended"))
	})
	var wanted []analysis.Root
	for _, r := range requests {
		wanted = append(wanted, r.root())
	}
	f.Add(data)
	f.Add(data[:len(data)/2])
	f.Add(data[:len(data)-1])
	f.Add([]byte("go 1.11 trace\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		results, err := analysis.Read(bytes.NewReader(data), wanted, nil)
		if err != nil && err.Error() == "" {
			t.Error("the error has no text")
		}
		for i := range results {
			check(t, &results[i])
		}
	})
}

// A trace that is cut gives an error, and the requests that are complete.
func TestTruncated(t *testing.T) {
	var r *request
	data := record(t, func() {
		r = do("GET /", rest)
		for range 3 {
			do("GET /other", rest)
		}
	})
	whole := read(t, data, r)
	for _, n := range []int{0, 3, 16, 100, len(data) / 4, len(data) / 2, len(data) - 1} {
		results, err := analysis.Read(bytes.NewReader(data[:n]), []analysis.Root{r.root()}, nil)
		if err == nil {
			t.Errorf("no error for %d bytes of %d", n, len(data))
		}
		for i := range results {
			check(t, &results[i])
			if !results[i].Unended && results[i].Duration != whole.Duration {
				t.Errorf("%d bytes: the request has %v, want %v", n, results[i].Duration, whole.Duration)
			}
		}
	}
}

// Several requests come in the order in which they are wanted.
func TestSeveralRoots(t *testing.T) {
	var first, second *request
	data := record(t, func() {
		first = do("GET /1", rest)
		second = do("GET /2", rest)
	})
	got, err := analysis.Read(bytes.NewReader(data), []analysis.Root{second.root(), first.root()}, nil)
	if err != nil || len(got) != 2 || got[0].Name != "GET /2" || got[1].Name != "GET /1" {
		t.Fatalf("Read returns %v, %v", names(got), err)
	}
	for i := range got {
		check(t, &got[i])
	}
}

func names(requests []states.Request) (names []string) {
	for _, r := range requests {
		names = append(names, r.Name)
	}
	return names
}
