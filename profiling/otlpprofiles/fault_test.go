package otlpprofiles_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/continuous"
	"github.com/perfline/perfline/internal/faulttest"
	"github.com/perfline/perfline/internal/otlp"
	"github.com/perfline/perfline/internal/queue"
	"github.com/perfline/perfline/profiling/otlpprofiles"
	"github.com/perfline/perfline/profiling/profile"
)

// Receivers that fail and are well again: see package faulttest.
func TestFaults(t *testing.T) { faulttest.Run(t, profiles) }

// The same over the machine's own network.
func TestFaultsOverPorts(t *testing.T) { faulttest.RunPorts(t, profiles) }

// A receiver that does not know profiles gets one request.
func TestUnknownFaults(t *testing.T) { faulttest.RunUnknown(t, profiles) }

var profiles = faulttest.Signal{
	What: "profiles", Of: otlp.Profiles, Pauses: true, Single: true, DropsOldest: true,
	Bytes: func(name string) int { return len(request(name)) },
	Names: names,
	New: func(c faulttest.Config) (faulttest.Delivery, error) {
		e := otlpprofiles.NewExporter(otlpprofiles.Config{Sender: otlpSender{c.Sender}, QueueBytes: c.QueueBytes, Logger: c.Logger})
		err := e.StartProcess(context.Background(), nil, nil, continuous.Process{
			Now: time.Now, Clock: func() time.Duration { return 0 }, Spent: free, Profiler: func(func()) (continuous.Profiler, error) { return &silent{}, nil },
		})
		return faulty{e}, err
	},
}

// An otlpSender is an OTLP sender as an [exporter.Sender].
type otlpSender struct{ *otlp.Sender }

func (s otlpSender) Send(ctx context.Context, body []byte) exporter.Answer {
	a := s.Sender.Send(ctx, body)
	return exporter.Answer{
		Err: a.Err, Retry: a.Retry, After: a.After, Unanswered: a.Unanswered, Unknown: a.Unknown, Rejected: a.Rejected, Message: a.Message,
	}
}

// A silent profiler takes no samples: all profiles are those that the suite adds.
type silent struct{ played }

func (*silent) TakeTrace() (*profile.Trace, error) { return profile.NewBuilder(nil).Trace(nil), nil }
func (s *silent) Stop() (*profile.Trace, error)    { return s.TakeTrace() }

// faulty is an exporter as the suite of faults knows it.
type faulty struct{ *otlpprofiles.Exporter }

func (f faulty) Add(name string)                      { f.Exporter.Add(request(name)) }
func (f faulty) ForceFlush(ctx context.Context) error { return f.Flush(ctx) }
func (f faulty) Stats() queue.Stats {
	s := f.Exporter.Stats()
	return queue.Stats{
		Accepted: s.Accepted, Delivered: s.Delivered, Failed: s.Refused + s.Unanswered,
		Dropped: s.Dropped, Pending: s.Pending, PendingBytes: s.PendingBytes,
		Unanswered: s.Unanswered, Retries: s.Retries,
	}
}

// Shutdown returns an error unless the exporter's Shutdown reports the profiles that were lost since Start, and only those.
func (f faulty) Shutdown(ctx context.Context) error {
	err := f.Exporter.Shutdown(ctx)
	if lost := f.Exporter.Stats().Lost(); (lost > 0) != (err != nil) {
		return fmt.Errorf("%d profiles were lost: %w", lost, err)
	}
	return nil
}

// request encodes a profile that has a name.
func request(name string) []byte {
	body, err := proto.Marshal(&profilespb.ProfilesData{ResourceProfiles: []*profilespb.ResourceProfiles{{
		ScopeProfiles: []*profilespb.ScopeProfiles{{Profiles: []*profilespb.Profile{{OriginalPayload: []byte(name)}}}},
	}}})
	if err != nil {
		panic(err) // a name is bytes
	}
	return body
}

func names(body []byte) (all []string, err error) {
	var data profilespb.ProfilesData
	err = proto.Unmarshal(body, &data)
	for _, resource := range data.GetResourceProfiles() {
		for _, scope := range resource.GetScopeProfiles() {
			for _, p := range scope.GetProfiles() {
				all = append(all, string(p.GetOriginalPayload()))
			}
		}
	}
	return all, err
}
