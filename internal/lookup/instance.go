package lookup

import (
	"time"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/requests"
)

// An Instance identifies a process. Behind a load balancer, two answers may come from two
// processes.
type Instance struct {
	ID      string    // service.instance.id; empty if unknown
	Host    string    // host.name; empty if unknown
	Started time.Time // start of the process, by the wall clock
}

// InstanceOf returns the instance of this process. The names come from the resource of the requests
// in memory.
func InstanceOf(recent *requests.Recent) Instance {
	set := recent.Resource().Set()
	id, _ := set.Value(semconv.ServiceInstanceIDKey)
	host, _ := set.Value(semconv.HostNameKey)
	return Instance{id.AsString(), host.AsString(), record.ProcessTimeline().Origin().Round(0)}
}
