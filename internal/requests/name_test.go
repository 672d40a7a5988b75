package requests_test

import (
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/requests"
)

// A call out has the method and the host that was called, or the database.
func TestNamesOfCalls(t *testing.T) {
	type attrs = map[attribute.Key]string
	for _, c := range []struct {
		name string
		kind trace.SpanKind
		have attrs
		want string
	}{
		{"GET", trace.SpanKindClient, attrs{"http.request.method": "GET", "server.address": "api.example", "server.port": "8080"}, "GET api.example:8080"},
		{"GET", trace.SpanKindClient, attrs{"server.address": "api.example", "server.port": "443"}, "GET api.example"},
		{"GET", trace.SpanKindClient, attrs{"server.address": "::1", "server.port": "8080"}, "GET [::1]:8080"},
		{"GET", trace.SpanKindClient, nil, "GET"},
		{"GET", trace.SpanKindServer, attrs{"server.address": "api.example"}, "GET"},
		{"HTTP GET", trace.SpanKindClient, attrs{"http.request.method": "GET", "server.address": "api.example"}, "HTTP GET api.example"},
		{"GET /users/{id}", trace.SpanKindClient, attrs{"http.request.method": "GET", "server.address": "api.example"}, "GET /users/{id} api.example"},
		{"GET api.example", trace.SpanKindClient, attrs{"http.request.method": "GET", "server.address": "api.example"}, "GET api.example"},
		{"call the bank", trace.SpanKindClient, attrs{"server.address": "api.example"}, "call the bank"},
		{"shop.Stock/Get", trace.SpanKindClient, attrs{"rpc.system": "grpc", "server.address": "stock", "server.port": "9090"}, "shop.Stock/Get stock:9090"},
		{"shop.Stock/Get", trace.SpanKindClient, attrs{"rpc.system.name": "grpc", "server.address": "stock", "server.port": "443"}, "shop.Stock/Get stock:443"},
		{"shop.Stock/Get", trace.SpanKindClient, attrs{"rpc.system": "grpc"}, "shop.Stock/Get"},
		{"sql.conn.query", trace.SpanKindClient, attrs{"db.system.name": "sqlite"}, "sql.conn.query sqlite"},
		{"SELECT", trace.SpanKindClient, attrs{"db.system.name": "postgresql", "server.address": "db", "server.port": "5432", "db.namespace": "shop"}, "SELECT postgresql db"},
		{"SELECT", trace.SpanKindClient, attrs{"db.system.name": "postgresql", "server.address": "db", "server.port": "5433"}, "SELECT postgresql db:5433"},
		{"SELECT", trace.SpanKindClient, attrs{"db.system": "mysql", "db.namespace": "shop"}, "SELECT mysql shop"},
		{"SELECT products", trace.SpanKindClient, attrs{"db.system.name": "mysql", "server.address": "db"}, "SELECT products"},
		{"redis.get", trace.SpanKindClient, attrs{"db.system.name": "redis", "server.address": "cache", "server.port": "6380"}, "redis.get cache:6380"},
		{"redis.get", trace.SpanKindClient, attrs{"db.system.name": "redis"}, "redis.get"},
	} {
		t.Run(c.want, func(t *testing.T) {
			s := otlpenc.Span{Name: c.name, Kind: c.kind}
			for key, value := range c.have {
				s.Attributes = append(s.Attributes, attribute.KeyValue{Key: key, Value: attribute.StringValue(value)})
			}
			if got := (requests.Row{Span: &s}).Name(); got != c.want {
				t.Errorf("%q of %v is shown as %q, want %q", c.name, c.have, got, c.want)
			}
		})
	}
}
