package requests

import (
	"net"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/otlpenc"
)

// Name returns the name of the span. For a client span, Name appends the called host or database,
// unless the span's name contains the host or database:
//
//   - HTTP and RPC: Name appends the host and the port, as in "GET api.example:8080" and
//     "shop.Stock/Get stock:9090".
//   - Databases: Name appends the system, and the host or the name of the database. The span's name
//     must be an operation without an object, as in "SELECT postgresql db:5433".
//   - Others: Name appends the host and the port if the span's name is one word.
//
// Name omits the default port of the protocol.
func (r Row) Name() string {
	s := r.Span
	if s.Kind != trace.SpanKindClient {
		return s.Name
	}
	c := calleeOf(r.Span)
	target := c.address()
	switch {
	case c.database != "":
		if strings.Contains(s.Name, " ") {
			return s.Name // the operation and its object
		}
		if target == "" {
			target = c.namespace
		}
		if strings.Contains(s.Name, c.database) {
			break
		}
		if target != "" {
			target = " " + target
		}
		return s.Name + " " + c.database + target
	case c.method == "" && !c.rpc && strings.ContainsAny(s.Name, " /."):
		return s.Name
	}
	if target == "" || strings.Contains(s.Name, c.host) && c.host != "" {
		return s.Name
	}
	return s.Name + " " + target
}

// A callee is the called service, as the attributes of a span describe it.
type callee struct {
	host, port          string
	method              string // of HTTP
	rpc                 bool
	database, namespace string
}

func calleeOf(s *otlpenc.Span) callee {
	var c callee
	for _, kv := range s.Attributes {
		value := kv.Value.String()
		switch kv.Key {
		case "server.address":
			c.host = value
		case "server.port":
			c.port = value
		case "http.request.method":
			c.method = value
		case "rpc.system", "rpc.system.name":
			c.rpc = true
		case "db.system", "db.system.name":
			c.database = value
		case "db.namespace":
			c.namespace = value
		}
	}
	return c
}

// defaultPorts holds the default port of each database system.
var defaultPorts = map[string]string{"postgresql": "5432", "mysql": "3306", "mariadb": "3306",
	"redis": "6379", "mongodb": "27017", "microsoft.sql_server": "1433"}

// address returns the host, with the port unless the port is the default.
func (c callee) address() string {
	switch {
	case c.host == "":
		return ""
	case c.port == "", c.database != "" && c.port == defaultPorts[c.database]:
		return c.host
	case c.database == "" && !c.rpc && (c.port == "80" || c.port == "443"):
		return c.host
	}
	return net.JoinHostPort(c.host, c.port)
}
