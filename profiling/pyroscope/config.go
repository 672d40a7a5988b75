package pyroscope

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/perfline/perfline/internal/continuous"
	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/secret"
	"github.com/perfline/perfline/profiling"
)

// The variables of [Config], see the package's comment.
const (
	envAddress  = "PYROSCOPE_SERVER_ADDRESS"
	envName     = "PYROSCOPE_APPLICATION_NAME"
	envLabels   = "PYROSCOPE_LABELS"
	envUser     = "PYROSCOPE_BASIC_AUTH_USER"
	envPassword = "PYROSCOPE_BASIC_AUTH_PASSWORD" //nolint:gosec // a variable's name
	envTenant   = "PYROSCOPE_TENANT_ID"
	envHeaders  = "PYROSCOPE_HTTP_HEADERS"
	envInterval = "PYROSCOPE_UPLOAD_INTERVAL"
)

// Config configures an exporter of [New] or [Start]. A set field overrides the corresponding
// environment variable. With the zero value, only the variables configure the exporter.
type Config struct {
	// ServerAddress is the URL of the server, with http or https and a host. The default is
	// PYROSCOPE_SERVER_ADDRESS. The exporter adds the path of the API to the URL:
	// https://host/path/push.v1.PusherService/Push.
	ServerAddress string

	// ApplicationName is the service_name in the server. The name may contain letters, digits and
	// the characters _ . - / only. The default is PYROSCOPE_APPLICATION_NAME, or else service.name
	// of Resource. In service.name, "_" replaces all other characters.
	ApplicationName string

	// Tags are labels of all profiles. Tags and the labels of PYROSCOPE_LABELS together are at most
	// 15. A tag overrides a label of PYROSCOPE_LABELS with the same name.
	//
	//   - A name matches [a-zA-Z_][a-zA-Z0-9_.]*. The server replaces dots with underscores.
	//   - A name must not begin with "__".
	//   - The names service_name, pyroscope_spy and the labels of spans are reserved.
	//   - A value is UTF-8 text of at most 2048 bytes. Tags with empty values are ignored.
	Tags map[string]string

	// BasicAuthUser and BasicAuthPassword must be set together. The defaults are
	// PYROSCOPE_BASIC_AUTH_USER and PYROSCOPE_BASIC_AUTH_PASSWORD.
	BasicAuthUser, BasicAuthPassword string

	TenantID string            // of a server with several tenants; else PYROSCOPE_TENANT_ID
	Headers  map[string]string // sent with every request; else PYROSCOPE_HTTP_HEADERS

	// UploadInterval is the length of a profile, from a second to 30 minutes. The default is
	// PYROSCOPE_UPLOAD_INTERVAL, or else 15 s. Exporters that perfline.Start starts together use
	// the shortest interval, the shortest LeakInterval and the largest Spans of all exporters.
	UploadInterval time.Duration

	// LeakInterval is the time between profiles of leaked goroutines, from a second to 24 hours. 0
	// means the value of PERFLINE_LEAK_INTERVAL, or never without this variable. A negative value
	// means never. Ten minutes are enough for most programs.
	//
	// Each profile costs a garbage collection, and can end some programs. Read the documentation of
	// the package first. After a profile, the exporter waits at least a thousand times the duration
	// of this profile.
	LeakInterval time.Duration

	// Spans selects the spans that the samples name, in the labels span_id and span_name. With the
	// zero value, [profiling.LocalRoots], all samples of a request name the server span. The
	// selected spans carry the attribute pyroscope.profile.id. Grafana finds the samples of a span
	// by this attribute.
	Spans profiling.Selection

	// TraceIDs adds the label trace_id to samples. A server older than June 2026 creates a series
	// for each trace.
	TraceIDs bool

	// QueueBytes limits the size of the pending profiles, in bytes of compressed requests. The
	// exporter drops a profile above this limit. 0 means 16 MiB, enough for some tens of minutes of
	// a busy service.
	QueueBytes int

	// Resource describes the service. Use the resource of the tracer provider. nil means the
	// resource of the exporter's Start, or else resource.Default().
	//
	// The attributes service.namespace, service.version, service.instance.id and
	// deployment.environment.name become tags. In the names of these tags, underscores replace
	// dots. A tag in Tags or PYROSCOPE_LABELS overrides an attribute of the same name.
	Resource *resource.Resource

	// HTTPClient sends the profiles. Set a Timeout in the client. nil means a client that uses the
	// proxy of the environment, follows no redirects and waits at most a minute.
	HTTPClient *http.Client

	Logger *slog.Logger // nil means the logger that Start receives, else slog.Default()
}

// text returns the fields without the password, the values of headers, and the address's user and
// query.
func (c Config) text() string {
	password := ""
	if c.BasicAuthPassword != "" {
		password = "xxxxx"
	}
	return fmt.Sprintf("{ServerAddress:%s ApplicationName:%s Tags:%v BasicAuthUser:%s BasicAuthPassword:%s TenantID:%s Headers:%v UploadInterval:%v LeakInterval:%v Spans:%d TraceIDs:%t QueueBytes:%d}",
		secret.URL(c.ServerAddress), c.ApplicationName, c.Tags, c.BasicAuthUser, password,
		c.TenantID, slices.Sorted(maps.Keys(c.Headers)), c.UploadInterval, c.LeakInterval, c.Spans,
		c.TraceIDs, c.QueueBytes)
}

// Format prints the fields of c without secrets, for every formatting verb.
func (c Config) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.text()) }

// MarshalText returns the text that Format prints. encoding/json and log/slog call MarshalText.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.text()), nil }

// resolve sets c from the variables and the defaults, and checks c. It returns the tags of all
// profiles, by their names in the server. It logs wrong variables that do no harm.
func (c *Config) resolve(env continuous.Environment) (
	s continuous.Settings, tags map[string]string, err error,
) {
	if c.Resource = cmp.Or(c.Resource, env.Resource); c.Resource == nil {
		c.Resource = resource.Default()
	}
	for _, resolve := range []func() error{c.resolveAddress, c.resolveAuth, c.resolveHeaders} {
		if err := resolve(); err != nil {
			return s, nil, err
		}
	}
	if c.UploadInterval == 0 {
		inRange := func(value string) (time.Duration, bool) {
			d, err := time.ParseDuration(value)
			return d, err == nil && continuous.InRange(d)
		}
		c.UploadInterval = environ.Read(env.Vars, continuous.DefaultInterval, inRange, envInterval)
	}
	s, err = continuous.Settings{
		Interval: c.UploadInterval, LeakInterval: c.LeakInterval, Spans: c.Spans,
		QueueBytes: c.QueueBytes, Logger: env.Logger,
	}.Resolve(env.Vars, "UploadInterval")
	if err != nil {
		return s, nil, err
	}
	if err := c.resolveName(env.Vars); err != nil {
		return s, nil, err
	}
	tags, err = c.resolveTags(env.Vars)
	return s, tags, err
}

func (c *Config) resolveAddress() error {
	raw, from := given(c.ServerAddress, "ServerAddress", envAddress)
	if raw == "" {
		return fmt.Errorf("no server: give ServerAddress or %s", envAddress)
	}
	if u, err := environ.URL(raw); err != nil || u.Hostname() == "" {
		return wrong(from, envAddress, secret.URL(raw))
	}
	c.ServerAddress = raw
	return nil
}

func (c *Config) resolveAuth() error {
	user, userFrom := given(c.BasicAuthUser, "BasicAuthUser", envUser)
	password, passwordFrom := c.BasicAuthPassword, "BasicAuthPassword"
	if password == "" {
		// Spaces may be part of the password.
		password, passwordFrom = environ.Raw(envPassword), envPassword
	}
	tenant, tenantFrom := given(c.TenantID, "TenantID", envTenant)
	switch {
	case !printable(user):
		return wrong(userFrom, envUser, user)
	case !printable(password):
		return wrong(passwordFrom, envPassword, "xxxxx")
	case !printable(tenant):
		return wrong(tenantFrom, envTenant, tenant)
	case user != "" && password == "":
		return fmt.Errorf("basic authentication has a user only: give BasicAuthPassword or %s, too",
			envPassword)
	case user == "" && password != "":
		return fmt.Errorf("basic authentication has a password only: give BasicAuthUser or %s, too",
			envUser)
	}
	c.BasicAuthUser, c.BasicAuthPassword, c.TenantID = user, password, tenant
	return nil
}

func (c *Config) resolveHeaders() error {
	from := "Headers"
	if len(c.Headers) == 0 {
		raw := environ.Get(envHeaders)
		if raw == "" {
			return nil
		}
		from = envHeaders
		if err := json.Unmarshal([]byte(raw), &c.Headers); err != nil {
			// encoding/json's error may hold a secret
			return wrong(from, envHeaders, "")
		}
	}
	if twice := environ.Duplicate(c.Headers); twice != "" {
		return fmt.Errorf("%s: name %q: must not come twice", from, twice)
	}
	for name, value := range c.Headers {
		if !environ.IsToken(name) {
			return fmt.Errorf("%s: name %q: must be a header's name: letters, digits and !#$%%&'*+-.^_`|~", from, name)
		}
		if !environ.Sendable(value) {
			return fmt.Errorf("%s: value of %q: must have no control characters", from, name)
		}
		if !environ.CanSend(false, name, value) ||
			strings.HasPrefix(strings.ToLower(name), "connect-") {
			return fmt.Errorf("%s: name %q: must not be a header that the protocol sets itself",
				from, name)
		}
	}
	// The server would parse a colon as the end of the user (RFC 7617, section 2).
	if strings.Contains(c.BasicAuthUser, ":") {
		return errors.New("BasicAuthUser: must have no colon")
	}
	return nil
}

// given returns the value of a field or else of its variable, and the name of that source.
func given(field, name, variable string) (value, from string) {
	if v := strings.TrimSpace(field); v != "" {
		return v, name
	}
	return environ.Get(variable), variable
}

// wrong returns the error of a wrong value from a field or its variable.
func wrong(from, variable, shown string) error {
	if from == variable {
		return environ.Error(variable)
	}
	return fmt.Errorf("%s %q: %s", from, shown, environ.Rule(variable))
}

// printable reports whether s is UTF-8 without control characters.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}
