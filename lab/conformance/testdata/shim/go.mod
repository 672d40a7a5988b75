module github.com/perfline/perfline/conformance

go 1.26.0

require (
	github.com/perfline/perfline v0.1.0
	github.com/perfline/perfline/observer v0.1.0
	go.opentelemetry.io/otel/sdk v1.47.0
)
