package environ

import (
	"slices"
	"strings"

	"github.com/perfline/perfline/internal/secret"
)

// A Variable describes an environment variable.
type Variable struct {
	Name    string
	Signals bool     // each signal also defines a variable: see [OfSignal]
	Sets    string   // effect of the variable, in Markdown
	Choices []string // the valid values, in lower case; nil if Must describes them
	Must    string   // the rule for values; with Choices, a remark
	Default string   // the value in place of an unset or wrong variable
	Fatal   bool     // Start returns an error for a wrong value
	Secret  bool     // logs and errors never contain the value

	hide func(string) string // removes secrets from a value
}

const otlp = "OTEL_EXPORTER_OTLP_"

// OfSignal returns the names of two variables for a setting of OTLP exporters. The first variable
// applies to one signal, and overrides the second. The second variable applies to all signals. The
// parameter signal is TRACES, METRICS, LOGS or PROFILES. The parameter what is the name of the
// setting, such as ENDPOINT.
func OfSignal(signal, what string) []string {
	return []string{otlp + signal + "_" + what, otlp + what}
}

// Names returns the name of the variable. If Signals is true, Names also returns the names of the
// variables for single signals.
func (v Variable) Names() []string {
	names := []string{v.Name}
	if v.Signals {
		for _, signal := range []string{"TRACES", "METRICS", "LOGS", "PROFILES"} {
			names = append(names, OfSignal(signal, strings.TrimPrefix(v.Name, otlp))[0])
		}
	}
	return names
}

// Rule returns the rule for valid values. The rule begins with "must".
func (v Variable) Rule() string {
	n := len(v.Choices) - 1
	if n < 0 {
		return v.Must
	}
	rule := "must be " + strings.Join(v.Choices[:n], ", ") + " or " + v.Choices[n]
	if v.Must != "" {
		rule += "; " + v.Must
	}
	return rule
}

func lookUp(name string) Variable {
	i := slices.IndexFunc(variables,
		func(v Variable) bool { return slices.Contains(v.Names(), name) })
	if i < 0 {
		return Variable{Name: name, Secret: true}
	}
	return variables[i]
}

// Rule returns the rule for the values of a variable. The same rule applies to the Config field
// that overrides the variable.
func Rule(name string) string { return lookUp(name).Rule() }

// Default returns the default of a variable. The default replaces the value of an unset or wrong
// variable.
func Default(name string) string { return lookUp(name).Default }

// Variables returns descriptions of all environment variables that perfline reads. The list
// includes variables of the parts of OpenTelemetry that perfline sets up.
func Variables() []Variable { return slices.Clone(variables) }

// longestName bounds a printed file name, in bytes: a longer name may be a key.
const longestName = 256

const (
	boolRule = "must be true or false"
	urlRule  = `must be a URL with scheme http or https and a host, as "http://localhost:4317"`
	otlpRule = urlRule +
		`; over gRPC also a target with a port, as "localhost:4317", or of gRPC's resolvers, as "dns:///localhost:4317"`
	limitRule = "must be a whole number, 0 or more"
	fileRule  = "must be the name of a readable file in PEM format"
	countRule = "must be a whole number from 1 to 16777216"

	millisecondsRule = "must be a whole number of milliseconds, 0 or more"
)

var variables = []Variable{
	{Name: "OTEL_SDK_DISABLED",
		Sets: "With `true`, nothing leaves the process, profiles included. Traces of callers are passed on.",
		Must: boolRule, Default: "false"},
	{Name: "OTEL_CONFIG_FILE",
		Sets: "No effect: perfline does not read OpenTelemetry's declarative configuration, and says so in one log line. The other variables count.",
		Must: "must be the name of a file", Default: "none"},
	{Name: "OTEL_SERVICE_NAME",
		Sets:    "The service's name in traces, metrics, logs and profiles. It wins over `Config.Service`.",
		Must:    "must be UTF-8",
		Default: "`Config.Service`, else `unknown_service:` and the program's name"},
	{Name: "OTEL_RESOURCE_ATTRIBUTES", Secret: true,
		Sets: "Attributes of the service. They win over `Config.Version` and `Config.Attributes`. `deployment.environment.name` and `service.namespace` are labels of profiles, too.",
		Must: "must be key=value pairs of UTF-8, separated by commas, with %2C for a comma and %25 for %", Default: "none"},
	{Name: "OTEL_PROPAGATORS",
		Sets:    "How traces come in and go out, as names separated by commas. `none` wins over other names.",
		Choices: []string{"tracecontext", "baggage", "none"},
		Must:    "traces break at services that know only another format: set Config.Propagator for them", Default: "tracecontext,baggage"},
	{Name: "OTEL_TRACES_SAMPLER", Sets: "Which requests are sampled. `Config.Sampler` wins.",
		Choices: []string{"always_on", "always_off", "traceidratio", "parentbased_always_on",
			"parentbased_always_off", "parentbased_traceidratio"},
		Default: "parentbased_always_on"},
	{Name: "OTEL_TRACES_SAMPLER_ARG",
		Sets: "The share of traces that the samplers `traceidratio` and `parentbased_traceidratio` take.",
		Must: "must be a number from 0 to 1", Default: "1"},
	limit("OTEL_ATTRIBUTE_COUNT_LIMIT", "Attributes of a span or a log record.", "128"),
	limit("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "The same. It wins.", "128"),
	limit("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "Characters of an attribute's value.", "no limit"),
	limit("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "The same. It wins.", "no limit"),
	limit("OTEL_SPAN_EVENT_COUNT_LIMIT", "Events of a span.", "128"),
	limit("OTEL_SPAN_LINK_COUNT_LIMIT", "Links of a span.", "128"),
	limit("OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", "Attributes of an event.", "128"),
	limit("OTEL_LINK_ATTRIBUTE_COUNT_LIMIT", "Attributes of a link.", "128"),
	limit("OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT",
		"Attributes of a log record. It wins over `OTEL_ATTRIBUTE_COUNT_LIMIT`.", "128"),
	limit("OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT",
		"Characters of an attribute's value in a log record. It wins over `OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT`.", "no limit"),
	{Name: "OTEL_TRACES_EXPORTER",
		Sets:    "Where traces go. An endpoint alone means `otlp`. Of several names separated by commas the first counts, but `none` wins.",
		Choices: []string{"otlp", "console", "none"},
		Must:    "set Config.SpanExporter for another exporter", Default: "none"},
	{Name: "OTEL_METRICS_EXPORTER", Sets: "Where metrics go. Of several names `none` wins.",
		Choices: []string{"otlp", "none"},
		Must:    "set Config.Metrics for another reader, as Prometheus's", Default: "none"},
	{Name: "OTEL_LOGS_EXPORTER",
		Sets:    "Where log records go: marks, as `PERFLINE_MARKS` says, and records of package `bridgelog`. Unset means `otlp` if marks are log records and there is an endpoint. Of several names `none` wins.",
		Choices: []string{"otlp", "none"}, Default: "none"},
	{Name: "PERFLINE_MARKS",
		Sets:    "The form of marks: events of spans, log records with an `EventName`, or both. `Config.Marks` wins. With `OTEL_LOGS_EXPORTER=otlp`, marks outside of spans are log records in every form.",
		Choices: []string{"span_events", "log_records", "both"}, Default: "span_events"},
	{Name: "OTEL_PROFILES_EXPORTER",
		Sets:    "Whether `Config.ProfileExporter` sends profiles over OTLP (development). Unset means that it does. OpenTelemetry's specification has no such variable yet.",
		Choices: []string{"otlp", "none"}, Default: "`otlp` with `Config.ProfileExporter`"},
	{Name: otlp + "ENDPOINT", Signals: true, Fatal: true, hide: secret.URL,
		Sets: "The backend. Without it, the exporter `otlp` sends to `http://localhost:4317`, or to port 4318 by HTTP. A target without `http` or `https` has TLS, unless `OTEL_EXPORTER_OTLP_INSECURE` is `true`.", Must: otlpRule, Default: "none"},
	{Name: otlp + "PROTOCOL", Signals: true, Sets: "The protocol.",
		Choices: []string{"grpc", "http/protobuf"},
		Default: "`http/protobuf` for port 4318, else `grpc`"},
	{Name: otlp + "HEADERS", Signals: true, Fatal: true, Secret: true,
		Sets: "Headers of every request, for a tenant or a token.",
		Must: "must be name=value, separated by commas, with %2C for a comma and %25 for %; " +
			HeaderRule, Default: "none"},
	{Name: otlp + "CERTIFICATE", Signals: true, Fatal: true, hide: hideContent,
		Sets: "The authorities that may sign the backend's certificate.",
		Must: fileRule, Default: "the system's certificates"},
	{Name: otlp + "CLIENT_CERTIFICATE", Signals: true, Fatal: true, hide: hideContent,
		Sets: "The certificate of this program.", Must: fileRule, Default: "none"},
	{Name: otlp + "CLIENT_KEY", Signals: true, Fatal: true, hide: hideContent,
		Sets: "The key to that certificate. Set both or none.", Must: fileRule, Default: "none"},
	{Name: otlp + "INSECURE", Signals: true,
		Sets: "Whether gRPC connects without TLS to an endpoint without `http` or `https`. Otherwise the scheme of the endpoint decides, and the variable has no effect.",
		Must: boolRule, Default: "false"},
	{Name: otlp + "COMPRESSION", Signals: true, Sets: "How requests are compressed.",
		Choices: []string{"gzip", "none"}, Default: "none"},
	{Name: otlp + "TIMEOUT", Signals: true,
		Sets: "How long an attempt to send a batch may take, in milliseconds. 0 means no limit. The time for all attempts is `OTEL_BSP_EXPORT_TIMEOUT`, `OTEL_BLRP_EXPORT_TIMEOUT` or `OTEL_METRIC_EXPORT_TIMEOUT`.",
		Must: millisecondsRule, Default: "10000"},
	queueSize("OTEL_BSP", "spans", "Config.Traces"),
	batchSize("OTEL_BSP", "spans"),
	batchDelay("OTEL_BSP", "span", "5000"),
	batchTimeout("OTEL_BSP", "spans"),
	queueSize("OTEL_BLRP", "log records", "Config.Logs"),
	batchSize("OTEL_BLRP", "log records"),
	batchDelay("OTEL_BLRP", "log record", "1000"),
	batchTimeout("OTEL_BLRP", "log records"),
	{Name: otlp + "METRICS_TEMPORALITY_PREFERENCE", Sets: "What metrics count from.",
		Choices: []string{"cumulative", "delta", "lowmemory"}, Default: "cumulative"},
	{Name: otlp + "METRICS_DEFAULT_HISTOGRAM_AGGREGATION", Sets: "How histograms are sent.",
		Choices: []string{"explicit_bucket_histogram", "base2_exponential_bucket_histogram"},
		Default: "explicit_bucket_histogram"},
	{Name: "OTEL_METRIC_EXPORT_INTERVAL", Sets: "How often metrics are sent, in milliseconds.",
		Must: "must be a whole number of milliseconds, 1 or more", Default: "60000"},
	{Name: "OTEL_METRIC_EXPORT_TIMEOUT",
		Sets: "How long that may take, in milliseconds. 0 means no limit.", Must: millisecondsRule,
		Default: "30000"},
	{Name: "OTEL_METRICS_EXEMPLAR_FILTER", Sets: "Which measurements may be exemplars.",
		Choices: []string{"always_on", "always_off", "trace_based"}, Default: "trace_based"},
	{Name: "OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS",
		Sets:    "The methods in the names of spans and metrics. Others are `_OTHER`.",
		Must:    "must be names of HTTP methods, separated by commas",
		Default: "the methods of the conventions"},
	experiment("OTEL_GO_X_OBSERVABILITY", "The SDK's metrics about itself."),
	experiment("OTEL_GO_X_SELF_OBSERVABILITY", "The SDK's metrics about itself."),
	experiment("OTEL_GO_X_RESOURCE", "More attributes of the resource."),
	{Name: "OTEL_GO_X_DEPRECATED_RUNTIME_METRICS",
		Sets: "An experiment of OpenTelemetry's instrumentation of the runtime. The runtime's metrics by their old names, too, as `process.runtime.go.goroutines`.",
		Must: "must be true or false, or 1 or 0", Default: "false"},
	experiment("OTEL_GO_X_PER_SERIES_START_TIMESTAMPS",
		"A start of its own for each series of a metric."),
	{Name: "OTEL_GO_X_CARDINALITY_LIMIT", Sets: "Series of a metric.",
		Must: "must be a whole number; 0 or a negative one means no limit", Default: "2000"},
	{Name: "PYROSCOPE_SERVER_ADDRESS",
		Sets: "Turns continuous profiling on. The other `PYROSCOPE_*` are read only where there is an address.", Fatal: true, hide: secret.URL,
		Must: strings.Replace(urlRule, "4317", "4040", 1), Default: "none"},
	{Name: "PYROSCOPE_APPLICATION_NAME", Sets: "The server's `service_name`.",
		Must: "must have letters, digits and _ . - / only", Default: "the service's name"},
	{Name: "PYROSCOPE_LABELS", Sets: "Labels of all profiles.",
		Must: "must be name=value, separated by commas, with names of letters, digits, _ and . that no other label has", Default: "none"},
	{Name: "PYROSCOPE_BASIC_AUTH_USER", Sets: "The user of basic authentication.", Fatal: true,
		Must: "must be UTF-8 without control characters", Default: "none"},
	{Name: "PYROSCOPE_BASIC_AUTH_PASSWORD", Sets: "Its password. Set both or none.", Fatal: true,
		Secret: true, Must: "must be UTF-8 without control characters", Default: "none"},
	{Name: "PYROSCOPE_TENANT_ID", Sets: "The tenant, of a server with several.", Fatal: true,
		Must: "must be UTF-8 without control characters", Default: "none"},
	{Name: "PYROSCOPE_HTTP_HEADERS", Sets: "Headers of every request.", Fatal: true,
		Secret: true, Must: `must be a JSON object of strings, as {"X-Token":"secret"}`,
		Default: "none"},
	{Name: "PYROSCOPE_UPLOAD_INTERVAL", Sets: "How long a profile is.",
		Must: "must be a duration from 1s to 30m, as 15s", Default: "15s"},
	{Name: "PERFLINE_LEAK_INTERVAL",
		Sets: "How often leaked goroutines are profiled for Pyroscope and over OTLP, as `10m`, where the runtime can. Read the documentation of `profiling/pyroscope` first.",
		Must: "must be off, or a duration from 1s to 24h, as 10m", Default: "off"},
	{Name: "PERFLINE_BLACKBOX_DIR",
		Sets:    "The directory of the [black box](blackbox.md).",
		Must:    "must be an absolute path, on a local file system",
		Default: "no black box"},
	{Name: "PERFLINE_PROFILING",
		Sets:    "`off` forbids profiling. `remote` allows sessions from outside, whatever the program says.",
		Choices: []string{"off", "remote"},
		Default: "empty. A wrong value counts as `off`, because it was meant to restrict profiling"},
}

func limit(name, of, otherwise string) Variable {
	return Variable{Name: name, Sets: of, Must: limitRule, Default: otherwise}
}

func queueSize(processor, items, config string) Variable {
	return Variable{Name: processor + "_MAX_QUEUE_SIZE", Must: countRule, Default: "8192",
		Sets: "How many " + items + " may wait for delivery. Further " + items +
			" are dropped and counted. `" + config + ".QueueSize` wins."}
}

func batchSize(processor, items string) Variable {
	return Variable{Name: processor + "_MAX_EXPORT_BATCH_SIZE", Must: countRule, Default: "512",
		Sets: "The largest number of " + items + " in a request: at most half of `" + processor +
			"_MAX_QUEUE_SIZE`."}
}

func batchDelay(processor, item, milliseconds string) Variable {
	return Variable{Name: processor + "_SCHEDULE_DELAY", Must: millisecondsRule,
		Default: milliseconds,
		Sets:    "How long a " + item + " waits for others, in milliseconds. 0 sends it at once."}
}

func batchTimeout(processor, items string) Variable {
	return Variable{Name: processor + "_EXPORT_TIMEOUT", Must: millisecondsRule, Default: "30000",
		Sets: "How long delivery of a batch of " + items + " is tried, in milliseconds, all " +
			"attempts and the waits between them. 0 means no limit."}
}

func experiment(name, what string) Variable {
	return Variable{Name: name, Sets: "An experiment of OpenTelemetry's SDK. " + what,
		Must: boolRule, Default: "false"}
}

// hideContent hides the content of a file in place of its name.
func hideContent(name string) string {
	if strings.Contains(name, "-----BEGIN") || strings.ContainsAny(name, "\r\n") ||
		len(name) > longestName {
		return "…"
	}
	return name
}
