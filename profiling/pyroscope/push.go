package pyroscope

import (
	"crypto/rand"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/perfline/perfline/profiling/internal/continuous"
)

// The labels that make a series in the server, beside the service's name and the tags.
const (
	labelName = "__name__" // the first part of a profile's type
	// "false": the values are of the profile's time, the server subtracts nothing
	labelDelta = "__delta__"
	// tells the processes of a service apart, and the pushers of a process
	labelInstance = "__session_id__"
	labelSpy      = "pyroscope_spy" // by "gospy" the server knows profiles of Go
	labelService  = "service_name"
)

const spyName = "gospy"

// profileNames are the names that pyroscope-go's profiles have in the server, by kind. Dashboards
// and queries name them, so perfline's profiles have the same names. Grafana Alloy pushes
// "goroutine" in place of "goroutines".
var profileNames = map[string]string{
	"cpu": "process_cpu", continuous.Heap: "memory", continuous.Goroutine: "goroutines",
	continuous.Mutex: "mutex", continuous.Block: "block",
	continuous.Leak: "goroutine_leak",
}

// seriesLabels returns the labels of all series of a pusher, but for the name.
func seriesLabels(service, instance string, tags map[string]string) map[string]string {
	labels := maps.Clone(tags)
	labels[labelService], labels[labelInstance] = service, instance
	labels[labelDelta], labels[labelSpy] = "false", spyName
	return labels
}

// An upload is a request with one profile, which waits for delivery. The server takes a request as
// a whole or refuses it as a whole: a profile that it refuses must not cost another one.
type upload struct {
	kind    string
	request []byte // a push.v1.PushRequest

	// The client's.
	attempts   int
	sentBefore uint64 // profiles that the server had taken at the first attempt
	unanswered bool   // an attempt was not answered: the server may have it
}

// Count returns 1.
func (*upload) Count() int { return 1 }

// Bytes returns the size of the request.
func (u *upload) Bytes() int { return len(u.request) }

// Request returns the same: an upload travels alone.
func (u *upload) Request() int { return u.Bytes() }

func newUpload(kind string, labels map[string]string, profile []byte) *upload {
	named := maps.Clone(labels)
	named[labelName] = profileNames[kind]
	return &upload{kind: kind, request: pushRequest(named, newID(), profile)}
}

// newID returns a random UUID. It stays the same when a profile is sent again.
func newID() string {
	var id [16]byte
	_, _ = rand.Read(id[:])                         // never fails
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80 // version 4, RFC 9562
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// pushRequest returns a push.v1.PushRequest of one profile. Pyroscope's api/push/v1/push.proto
// defines it:
//
//	message PushRequest      { repeated RawProfileSeries series = 1; }
//	message RawProfileSeries { repeated LabelPair labels = 1; repeated RawSample samples = 2; }
//	message LabelPair        { string name = 1; string value = 2; }
//	message RawSample        { bytes raw_profile = 1; string ID = 2; }
func pushRequest(labels map[string]string, id string, profile []byte) []byte {
	var pairs []byte
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		pair := appendField(appendField(nil, 1, name), 2, labels[name])
		pairs = appendField(pairs, 1, pair)
	}
	sample := fieldSize(1, profile) + fieldSize(2, id)
	series := len(pairs) + protowire.SizeTag(2) + protowire.SizeBytes(sample)

	request := make([]byte, 0, protowire.SizeTag(1)+protowire.SizeBytes(series))
	request = appendHead(request, 1, series)
	request = append(request, pairs...)
	request = appendHead(request, 2, sample)
	request = appendField(request, 1, profile)
	return appendField(request, 2, id)
}

// appendField appends a field of type string, bytes or message.
func appendField[Value string | []byte](b []byte, number protowire.Number, value Value) []byte {
	return append(appendHead(b, number, len(value)), value...)
}

// appendHead appends what stands before the value of a field of so many bytes.
func appendHead(b []byte, number protowire.Number, size int) []byte {
	b = protowire.AppendTag(b, number, protowire.BytesType)
	return protowire.AppendVarint(b, uint64(size)) //nolint:gosec // not negative
}

func fieldSize[Value string | []byte](number protowire.Number, value Value) int {
	return protowire.SizeTag(number) + protowire.SizeBytes(len(value))
}
