package pyroscope

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"

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

// Defaults and bounds.
const (
	defaultInterval = 15 * time.Second
	minInterval     = time.Second
	maxInterval     = 30 * time.Minute // servers refuse what began an hour ago
	// DefaultQueueSize is how many bytes of profiles wait for delivery when [Config] does
	// not say: some tens of minutes of a busy service while its server is away.
	DefaultQueueSize = 16 << 20
)

// Config configures [Start]. The zero value leaves everything to the variables; a field
// that is set wins over its variable.
type Config struct {
	// ServerAddress is the server's URL, with http or https and a host; what path it has is
	// kept before /ingest. Else PYROSCOPE_SERVER_ADDRESS.
	ServerAddress string

	// ApplicationName is the server's service_name: letters, digits and _ . - / only. Else
	// PYROSCOPE_APPLICATION_NAME, else service.name of Resource, whose other characters
	// become "_".
	ApplicationName string

	// Tags are labels of all profiles, at most 15, beside those of PYROSCOPE_LABELS, over which
	// they win. Names are [a-zA-Z_][a-zA-Z0-9_.]*, where the server makes underscores of dots;
	// they do not begin with "__" and are not service_name, pyroscope_spy or one of the labels
	// of spans. Values have no ",", no "}" and no control characters, and at most 2048 bytes.
	Tags map[string]string

	// BasicAuthUser and BasicAuthPassword are given both or not at all. Else
	// PYROSCOPE_BASIC_AUTH_USER and PYROSCOPE_BASIC_AUTH_PASSWORD.
	BasicAuthUser, BasicAuthPassword string

	TenantID string            // of a server with several tenants; else PYROSCOPE_TENANT_ID
	Headers  map[string]string // sent with every request; else PYROSCOPE_HTTP_HEADERS

	// UploadInterval is how long a profile is, from a second to 30 minutes. Else
	// PYROSCOPE_UPLOAD_INTERVAL, else 15 s.
	UploadInterval time.Duration

	// Scope is which spans samples name, in the labels span_id and span_name; 0 means
	// profiling.LocalRoots: what ran in a request has its server span. Where spans carry the
	// attribute pyroscope.profile.id, profiling.SpanLabels has to be given the same.
	Scope profiling.Scope

	// TraceIDs makes the trace's id a label of samples, too. A server older than June 2026
	// makes a series of each trace of it.
	TraceIDs bool

	// QueueSize is how many bytes of profiles may wait for delivery, compressed as they are
	// sent; 0 means DefaultQueueSize.
	QueueSize int

	// Resource describes the service: service.namespace, service.version, service.instance.id
	// and deployment.environment.name become tags, with underscores for dots, unless there are
	// tags of that name. nil means resource.Default(): give the one of the tracer provider.
	Resource *resource.Resource

	// HTTPClient sends the profiles. nil means a client of its own, which uses the
	// environment's proxy, follows no redirects and waits a minute for an answer. Another
	// should have a Timeout.
	HTTPClient *http.Client

	Logger *slog.Logger // nil means slog.Default()
}

// Enabled reports whether a server is given, by the field or its variable.
func (c Config) Enabled() bool {
	address, _ := given(c.ServerAddress, "ServerAddress", envAddress)
	return address != ""
}

// String leaves out what is often secret: the password, the values of headers, and what
// is before the address's host or in its query.
func (c Config) String() string {
	password := ""
	if c.BasicAuthPassword != "" {
		password = "xxxxx"
	}
	return fmt.Sprintf("{ServerAddress:%s ApplicationName:%s Tags:%v BasicAuthUser:%s BasicAuthPassword:%s TenantID:%s Headers:%v UploadInterval:%v Scope:%d TraceIDs:%t QueueSize:%d}",
		secret.URL(c.ServerAddress), c.ApplicationName, c.Tags, c.BasicAuthUser, password, c.TenantID,
		slices.Sorted(maps.Keys(c.Headers)), c.UploadInterval, c.Scope, c.TraceIDs, c.QueueSize)
}

// Format prints String, whatever the verb.
func (c Config) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// MarshalText is String for encoding/json, log/slog and others that go by it.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// resolve fills c from the variables and the defaults, and checks it. It returns the
// tags of all profiles by the names that the server gives them.
func (c *Config) resolve() (tags map[string]string, err error) {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Resource == nil {
		c.Resource = resource.Default()
	}
	if err := c.resolveAddress(); err != nil {
		return nil, err
	}
	if err := c.resolveAuth(); err != nil {
		return nil, err
	}
	if err := c.resolveInterval(); err != nil {
		return nil, err
	}
	switch {
	case c.QueueSize < 0:
		return nil, fmt.Errorf("pyroscope: QueueSize %d: must not be negative", c.QueueSize)
	case c.QueueSize == 0:
		c.QueueSize = DefaultQueueSize
	}
	if err := c.resolveName(); err != nil {
		return nil, err
	}
	return c.resolveTags()
}

func (c *Config) resolveAddress() error {
	raw, from := given(c.ServerAddress, "ServerAddress", envAddress)
	if raw == "" {
		return fmt.Errorf("pyroscope: no server: give ServerAddress or %s", envAddress)
	}
	u, err := url.Parse(raw)
	port := 0
	if err == nil && u.Port() != "" {
		port, err = strconv.Atoi(u.Port())
	}
	if err != nil || port > 65535 || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Errorf("pyroscope: %s %q: must be a URL with scheme http or https and a host, as %q", from, secret.URL(raw), "http://localhost:4040")
	}
	c.ServerAddress = raw
	return nil
}

func (c *Config) resolveAuth() error {
	c.BasicAuthUser, _ = given(c.BasicAuthUser, "BasicAuthUser", envUser)
	c.BasicAuthPassword = cmp.Or(c.BasicAuthPassword, os.Getenv(envPassword)) // as it is: spaces may be meant
	if (c.BasicAuthUser == "") != (c.BasicAuthPassword == "") {
		missing, with := "BasicAuthPassword or "+envPassword, "user"
		if c.BasicAuthUser == "" {
			missing, with = "BasicAuthUser or "+envUser, "password"
		}
		return fmt.Errorf("pyroscope: basic authentication has a %s only: give %s, too", with, missing)
	}
	c.TenantID, _ = given(c.TenantID, "TenantID", envTenant)
	if !sendable(c.TenantID) {
		return fmt.Errorf("pyroscope: TenantID (%s) %q: must have no control characters", envTenant, c.TenantID)
	}
	from := "Headers"
	if len(c.Headers) == 0 {
		raw := strings.TrimSpace(os.Getenv(envHeaders))
		if raw == "" {
			return nil
		}
		from = envHeaders
		if err := json.Unmarshal([]byte(raw), &c.Headers); err != nil {
			// Neither the value nor encoding/json's error: they may hold a secret.
			return fmt.Errorf(`pyroscope: %s (%d bytes): must be a JSON object of strings, as {"X-Token":"secret"}`, envHeaders, len(raw))
		}
	}
	for name, value := range c.Headers {
		if !isToken(name) {
			return fmt.Errorf("pyroscope: %s: name %q: must be a header's name: letters, digits and !#$%%&'*+-.^_`|~", from, name)
		}
		if !sendable(value) {
			return fmt.Errorf("pyroscope: %s: value of %q: must have no control characters", from, name)
		}
	}
	return nil
}

func (c *Config) resolveInterval() error {
	from := "UploadInterval"
	if raw := strings.TrimSpace(os.Getenv(envInterval)); c.UploadInterval == 0 && raw != "" {
		d, err := time.ParseDuration(raw)
		if err != nil {
			return fmt.Errorf("pyroscope: %s %q: must be a duration, as 15s", envInterval, raw)
		}
		c.UploadInterval, from = d, envInterval
	} else if c.UploadInterval == 0 {
		c.UploadInterval = defaultInterval
	}
	if c.UploadInterval < minInterval || c.UploadInterval > maxInterval {
		return fmt.Errorf("pyroscope: %s %v: must be between %v and %v", from, c.UploadInterval, minInterval, maxInterval)
	}
	return nil
}

// given is a field's value or that of its variable, and which of the two it is.
func given(field, name, variable string) (value, from string) {
	if v := strings.TrimSpace(field); v != "" {
		return v, name
	}
	return strings.TrimSpace(os.Getenv(variable)), variable
}

// isToken reports whether s is a token of RFC 9110, section 5.6.2.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !isLetter(r) && !isDigit(r) && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// sendable reports whether net/http sends s as a header's value.
func sendable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}
