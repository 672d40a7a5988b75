package profiling

import (
	"reflect"
	"testing"

	"github.com/perfline/perfline/internal/spanlabels"
	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/profile"
)

// Of an engine that knows labels as text only, a sample's context is what they say.
func TestContextFromText(t *testing.T) {
	at := func(list ...spanlabels.Label) attribution { return resolve(&sampling.Sample{Labels: list}) }
	span := []spanlabels.Label{{Key: "app", Value: "shop"}, {Key: "span_id", Value: "0000000000000102"}, {Key: "span_name", Value: "query"}, {Key: "trace_id", Value: "0000000000000000000000000000000a"}}
	of := at(span...)
	want := profile.SampleContext{TraceID: [16]byte{15: 10}, SpanID: [8]byte{6: 1, 7: 2}, SpanName: "query", Labels: []profile.Label{{Key: "app", Value: "shop"}}}
	if got := of.context(nil); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	same, other, none := at(span...), at(span[1:]...), at()
	if of.key() != same.key() || of.key() == other.key() || none.key() != nil {
		t.Errorf("keys %v, of the same %v, of another %v, of nothing %v", of.key(), same.key(), other.key(), none.key())
	}
}
