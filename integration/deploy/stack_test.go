package deploy

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/integration/backend"
)

// cpu is the type of the profiles that spans lead to.
const cpu = backend.CPU

// patience is how long something that must come may take, on a slow machine.
const patience = 5 * time.Minute

// TestStack runs the shop as compose does, with the services that are built here: the Collector, Jaeger,
// Pyroscope and Prometheus. Each has the file that compose mounts, and Prometheus compose's flags.
// VictoriaLogs is in place of Loki. Prometheus and Pyroscope must answer all queries of the dashboards,
// VictoriaLogs must have the records that Loki is asked for, and exemplars lead to traces and log records.
func TestStack(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute) // the first build of all takes minutes
	defer cancel()
	var flags []string
	for _, f := range load(t).Services["prometheus"].Command {
		if !strings.HasPrefix(f, "--config.file=") && !strings.HasPrefix(f, "--storage.tsdb.path=") {
			flags = append(flags, f)
		}
	}
	prometheus, err := backend.StartPrometheus(ctx, flags...)
	if err != nil {
		t.Fatal(err)
	}
	stopAfter(t, "prometheus", prometheus)
	jaeger, err := backend.StartJaeger(ctx)
	if err != nil {
		t.Fatal(err)
	}
	stopAfter(t, "jaeger", jaeger)
	pyroscope, err := backend.StartPyroscope(ctx)
	if err != nil {
		t.Fatal(err)
	}
	stopAfter(t, "pyroscope", pyroscope)
	store := startLogs(ctx, t)
	t.Setenv("COLLECTOR_METRICS_INTERVAL", "500")
	collector, err := backend.StartCollector(ctx, backend.CollectorConfig{Jaeger: jaeger.OTLPGRPC(), Metrics: prometheus.OTLPHTTP(), Logs: store.OTLPHTTP()})
	if err != nil {
		t.Fatal(err)
	}
	stopAfter(t, "collector", collector)
	hosts := strings.NewReplacer("http://collector:4317", collector.OTLPGRPC(), "http://pyroscope:4040", pyroscope.URL())
	// Metrics come sooner than in compose, for the rates of a short run. A service in a namespace must be
	// found by its name, too.
	shop := startShop(ctx, t, buildShop(t), hosts, "OTEL_METRIC_EXPORT_INTERVAL=500", "OTEL_RESOURCE_ATTRIBUTES=service.namespace=examples")
	stopped := false
	defer func() {
		if !stopped {
			_ = shop.cmd.Process.Kill()
		}
	}()

	for file, d := range dashboards(t) {
		variables := []string{"$__rate_interval", "10s"}
		for _, v := range d.Templating.List {
			m := regexp.MustCompile(`^label_values\((.+), (\w+)\)$`).FindStringSubmatch(v.Query.Query)
			if m == nil {
				t.Fatalf("%s: variable %q asks %q, want label_values", file, v.Name, v.Query.Query)
			}
			within, done := context.WithTimeout(ctx, patience)
			err := backend.Poll(within, func() (bool, error) {
				values, err := prometheus.LabelValues(within, m[1], m[2])
				return slices.Contains(values, v.Current.Value), err
			})
			done()
			if err != nil {
				t.Fatalf("%s: %s has no value %q: %v", file, v.Query.Query, v.Current.Value, err)
			}
			variables = append(variables, "$"+v.Name, v.Current.Value)
		}
		set := strings.NewReplacer(variables...)
		for _, p := range d.Panels {
			for _, q := range p.Targets {
				t.Run(fmt.Sprintf("%s/%s/%s", file, p.Title, q.RefID), func(t *testing.T) {
					within, done := context.WithTimeout(ctx, patience)
					defer done()
					switch q.Datasource.UID {
					case "prometheus":
						askPrometheus(within, t, prometheus, set.Replace(q.Expr))
						if q.Exemplar {
							followExemplar(within, t, prometheus, set.Replace(q.Expr), jaeger, store)
						}
					case "pyroscope":
						askPyroscope(within, t, pyroscope, backend.Query{Type: q.ProfileType, Labels: set.Replace(q.Labels)})
					case "loki":
						askLogs(within, t, store, set.Replace(q.Expr))
					case "tempo":
						t.Logf("not asked, as no Tempo is built here: %s %s", q.QueryType, set.Replace(q.Query))
					default:
						t.Errorf("nobody asks %s", q.Datasource.UID)
					}
				})
			}
		}
	}

	// The Collector has taken all of its spans.
	stopped = true
	if err := shop.stop(); err != nil {
		t.Errorf("the shop lost something, or did not end in time: %v", err)
	}
	within, done := context.WithTimeout(ctx, patience)
	defer done()
	err = backend.Poll(within, func() (bool, error) { // the Collector may have some still
		traces, err := jaeger.Traces(within, "shop")
		return len(traces) > 0, err
	})
	if err != nil {
		t.Errorf("Jaeger has no traces of the shop: %v", err)
	}
}

// askPrometheus waits for a query to give numbers.
func askPrometheus(ctx context.Context, t *testing.T, p *backend.Prometheus, query string) {
	t.Helper()
	var last []backend.Sample
	err := backend.Poll(ctx, func() (bool, error) {
		var err error
		last, err = p.Query(ctx, query)
		return len(last) > 0 && !slices.ContainsFunc(last, func(s backend.Sample) bool { return s.Value == "NaN" }), err
	})
	if err != nil {
		t.Fatalf("%s gives %v: %v", query, last, err)
	}
	t.Logf("%s gives %v", query, last)
}

// followExemplar follows the data sources' links from an exemplar of a query. The first leads to a trace. Jaeger
// must have it, as no Tempo is built here. The second leads from there to log records of the shop, which
// TestLogRecords compares with the link to Loki.
func followExemplar(ctx context.Context, t *testing.T, p *backend.Prometheus, query string, j *backend.Jaeger, store *backend.VictoriaLogs) {
	t.Helper()
	all := sources(t)
	exemplars, found := []map[string]string(nil), 0
	err := backend.Poll(ctx, func() (bool, error) {
		var err error
		if exemplars, err = p.Exemplars(ctx, query); err != nil {
			return false, err
		}
		found = 0
		for _, labels := range exemplars {
			for _, link := range links(all["prometheus"].JSONData["exemplarTraceIdDestinations"]) {
				id, err := trace.TraceIDFromHex(labels[fmt.Sprint(link["name"])])
				if err != nil {
					continue
				}
				data, err := j.Trace(ctx, id)
				if err != nil {
					return false, err
				}
				if len(data.ResourceSpans) == 0 {
					continue // not yet there
				}
				found++
				records, err := store.Records(ctx, ofTrace("shop", id.String()))
				if len(records) > 0 || err != nil {
					return true, err
				}
			}
		}
		return false, nil
	})
	if err != nil {
		t.Errorf("%s has exemplars %v, %d of them with a trace and none with its log records: %v", query, exemplars, found, err)
	}
}

// inVictoriaLogs are the dashboards' queries to Loki, as VictoriaLogs has them.
var inVictoriaLogs = map[string]string{
	`{service_name="shop"} | event_name != ""`: `{service.name="shop"} "event.name":*`,
}

// askLogs waits for the records that a query to Loki selects. Each must have a text of its own.
func askLogs(ctx context.Context, t *testing.T, store *backend.VictoriaLogs, query string) {
	t.Helper()
	same, ok := inVictoriaLogs[query]
	if !ok {
		t.Fatalf("a panel asks Loki %s, which is not in the table of queries to VictoriaLogs", query)
	}
	var records []backend.Record
	err := backend.Poll(ctx, func() (bool, error) {
		var err error
		records, err = store.Records(ctx, same)
		return len(records) > 0, err
	})
	if err != nil {
		t.Fatalf("%s selects nothing: %v", same, err)
	}
	for _, r := range records {
		if r["_msg"] == "" || r["event_name"] == "" || r["event.name"] != r["event_name"] {
			t.Errorf("%s selects %v, want a text and a name", same, r)
		}
	}
}

// askPyroscope waits for profiles that are not empty.
func askPyroscope(ctx context.Context, t *testing.T, p *backend.Pyroscope, q backend.Query) {
	t.Helper()
	err := backend.Poll(ctx, func() (bool, error) {
		profile, err := p.Profile(ctx, q)
		return err == nil && len(profile.Sample) > 0, err
	})
	if err != nil {
		t.Errorf("no profiles of %+v: %v", q, err)
	}
}

// stopAfter ends a backend after the test and shows what it printed if that failed.
func stopAfter(t *testing.T, name string, b interface {
	Log() string
	Stop() error
}) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s's log:\n%s", name, b.Log())
		}
		if err := b.Stop(); err != nil {
			t.Error(err)
		}
	})
}
