module github.com/perfline/perfline/conformance/adapter

go 1.26.0

require (
	github.com/perfline/perfline v0.1.0
	go.opentelemetry.io/otel/sdk v1.47.0
	go.opentelemetry.io/proto/otlp v1.11.1
	google.golang.org/grpc v1.85.0
)
