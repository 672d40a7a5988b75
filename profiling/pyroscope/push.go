package pyroscope

import (
	"crypto/rand"
	"fmt"
	"maps"
	"slices"

	"github.com/perfline/perfline/internal/continuous"
	"github.com/perfline/perfline/internal/otlpwire"
)

// The labels that make a series in the server, beside the service's name and the tags.
const (
	labelName     = "__name__"       // the first part of a profile's type
	labelDelta    = "__delta__"      // "false": the values cover the profile's time
	labelInstance = "__session_id__" // differs between processes and exporters
	labelSpy      = "pyroscope_spy"  // the server recognizes profiles of Go by "gospy"
	labelService  = "service_name"
)

const spyName = "gospy"

// profileNames are the names of profiles in the server, by kind: those of pyroscope-go, which
// dashboards and queries use. Grafana Alloy pushes "goroutine" in place of "goroutines".
var profileNames = map[string]string{
	"cpu": "process_cpu", continuous.Heap: "memory", continuous.Goroutine: "goroutines",
	continuous.Mutex: "mutex", continuous.Block: "block", continuous.Leak: "goroutine_leak",
}

// seriesLabels returns the labels of an exporter's series without labelName.
func seriesLabels(service, instance string, tags map[string]string) map[string]string {
	labels := maps.Clone(tags)
	labels[labelService], labels[labelInstance] = service, instance
	labels[labelDelta], labels[labelSpy] = "false", spyName
	return labels
}

// An upload is a pending request with one profile. The server accepts or refuses a request as a
// whole, and a refused profile must not cost another one.
type upload struct {
	kind    string
	request []byte // a push.v1.PushRequest

	// The client owns these fields.
	attempts   int
	sentBefore uint64 // client.sent at the first attempt
	unanswered bool   // an attempt had no answer: the server may have the profile
}

func (*upload) Count() int { return 1 }

func (u *upload) Bytes() int { return len(u.request) }

// Request returns the length of the request for u, in bytes. The queue sends each upload in a
// separate request.
func (u *upload) Request() int { return u.Bytes() }

func newUpload(kind string, labels map[string]string, profile []byte) *upload {
	named := maps.Clone(labels)
	named[labelName] = profileNames[kind]
	return &upload{kind: kind, request: pushRequest(named, newID(), profile)}
}

// newID returns a random UUID. All attempts to send a profile use one id.
func newID() string {
	var id [16]byte
	_, _ = rand.Read(id[:])                         // never fails
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80 // version 4, RFC 9562
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// pushRequest returns a push.v1.PushRequest with one profile, see Pyroscope's
// api/push/v1/push.proto:
//
//	message PushRequest      { repeated RawProfileSeries series = 1; }
//	message RawProfileSeries { repeated LabelPair labels = 1; repeated RawSample samples = 2; }
//	message LabelPair        { string name = 1; string value = 2; }
//	message RawSample        { bytes raw_profile = 1; string ID = 2; }
func pushRequest(labels map[string]string, id string, profile []byte) []byte {
	const first, second = 1<<3 | otlpwire.Prefixed, 2<<3 | otlpwire.Prefixed
	text := func(b []byte, tag uint64, s string) []byte {
		return append(otlpwire.AppendLength(b, tag, len(s)), s...)
	}
	var pairs []byte
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		pairs = text(pairs, first, string(text(text(nil, first, name), second, labels[name])))
	}
	sample := otlpwire.FieldSize(len(profile)) + otlpwire.FieldSize(len(id))
	series := len(pairs) + otlpwire.FieldSize(sample)

	request := otlpwire.AppendLength(make([]byte, 0, otlpwire.FieldSize(series)), first, series)
	request = otlpwire.AppendLength(append(request, pairs...), second, sample)
	request = append(otlpwire.AppendLength(request, first, len(profile)), profile...)
	return text(request, second, id)
}
