package perfline_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// canary is the secret of these tests: it is given wherever one can be, and may come out
// nowhere but in the headers that it is for.
const canary = "c4nary"

// The variables that make the test's program another one: see blurt.
const (
	blurtVariable  = "PERFLINE_TEST_BLURT"
	fieldsVariable = "PERFLINE_TEST_FIELDS" // to give by Config's fields what else variables say
	vainVariable   = "PERFLINE_TEST_VAIN"   // what the log says when nothing arrives; empty: it arrives
)

// TestNoSecretComesOut runs a program that uses all of perfline, with a secret wherever
// one can be, and looks for it in all that the program prints, returns and sends.
func TestNoSecretComesOut(t *testing.T) {
	const user = "http://user:" + canary + "@"
	auth := env{
		"OTEL_EXPORTER_OTLP_HEADERS":         "authorization=Bearer%20" + canary,
		"OTEL_EXPORTER_OTLP_TRACES_HEADERS":  "x-token=" + canary + "traces",
		"OTEL_EXPORTER_OTLP_METRICS_HEADERS": "x-token=" + canary + "metrics",
		"OTEL_EXPORTER_OTLP_LOGS_HEADERS":    "x-token=" + canary + "logs",

		"OTEL_EXPORTER_OTLP_PROFILES_HEADERS": "x-token=" + canary + "profiles",
		"PYROSCOPE_BASIC_AUTH_USER":           "user",
		"PYROSCOPE_BASIC_AUTH_PASSWORD":       canary,
		"PYROSCOPE_HTTP_HEADERS":              `{"X-Token":"` + canary + `profiles"}`,
	}
	key := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(key, []byte("-----BEGIN PRIVATE KEY-----\n"+canary+"\n-----END PRIVATE KEY-----\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ways := []struct{ protocol, fields string }{{"grpc", ""}, {"http/protobuf", ""}, {"http/protobuf", "fields"}}
	for i, c := range []struct {
		name   string
		server func(*sink) http.HandlerFunc // nil: the port refuses connections
		tls    bool
		vars   env
		says   string // part of what is printed
		field  string // the same where fields say what variables do; empty: says
		vain   bool   // what is sent is tried until there is no more time
	}{
		{name: "taken", server: takes, says: "delivered"},
		{name: "refused connections", says: "refused", vain: true},
		{name: "a certificate that nobody knows", server: takes, tls: true, says: "certificate", vain: true},
		{name: "not authorized, and quoted", server: quotes(http.StatusUnauthorized), says: "xxxxx"},
		{name: "failing, and quoted", server: quotes(http.StatusInternalServerError), says: "xxxxx", vain: true},
		{name: "unavailable, and quoted", server: quotes(http.StatusServiceUnavailable), says: "xxxxx", vain: true},
		{name: "garbage", server: garbage},
		{name: "redirected", server: redirects, says: "307", vain: true},
		{name: "an endpoint that is no URL", vars: env{"OTEL_EXPORTER_OTLP_ENDPOINT": user + "h:port"}, says: "OTEL_EXPORTER_OTLP_ENDPOINT", field: "Endpoint"},
		{name: "an endpoint of all signals that is no URL", server: takes, vars: env{"OTEL_EXPORTER_OTLP_ENDPOINT": user + "h:port", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://h:4317"}, says: "OTEL_EXPORTER_OTLP_ENDPOINT"},
		{name: "an endpoint without a scheme", vars: env{"OTEL_EXPORTER_OTLP_ENDPOINT": "user:" + canary + "@h:4317"}, says: "scheme"},
		{name: "an endpoint with another scheme", vars: env{"OTEL_EXPORTER_OTLP_ENDPOINT": "ftp://" + canary + "@h?token=" + canary}, says: "scheme"},
		{name: "headers that are no list", server: takes, vars: env{"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Basic x," + canary}, says: "OTEL_EXPORTER_OTLP_HEADERS"},
		{name: "headers that are not escaped", server: takes, vars: env{"OTEL_EXPORTER_OTLP_TRACES_HEADERS": "authorization=%zz" + canary}, says: "OTEL_EXPORTER_OTLP_TRACES_HEADERS"},
		{name: "headers without names", server: takes, vars: env{"OTEL_EXPORTER_OTLP_HEADERS": "Bearer " + canary + "=="}, says: "OTEL_EXPORTER_OTLP_HEADERS"},
		{name: "headers of metrics that are no list", server: takes, vars: env{"OTEL_EXPORTER_OTLP_METRICS_HEADERS": canary}, says: "OTEL_EXPORTER_OTLP_METRICS_HEADERS"},
		{name: "headers of logs that are no list", server: takes, vars: env{"OTEL_EXPORTER_OTLP_LOGS_HEADERS": canary}, says: "OTEL_EXPORTER_OTLP_LOGS_HEADERS"},
		{name: "attributes that are no pairs", server: takes, vars: env{"OTEL_RESOURCE_ATTRIBUTES": "team=web," + canary}, says: "OTEL_RESOURCE_ATTRIBUTES"},
		{name: "attributes that are not escaped", server: takes, vars: env{"OTEL_RESOURCE_ATTRIBUTES": "token=%zz" + canary}, says: "OTEL_RESOURCE_ATTRIBUTES"},
		{name: "a header with a line break", server: takes, vars: env{"OTEL_EXPORTER_OTLP_HEADERS": "authorization=" + canary + "%0d%0ax:y"}, says: "OTEL_EXPORTER_OTLP_HEADERS"},
		{name: "a key in place of its file", server: takes, vars: env{"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": key, "OTEL_EXPORTER_OTLP_CLIENT_KEY": "-----BEGIN PRIVATE KEY-----" + canary}, says: "OTEL_EXPORTER_OTLP_CLIENT_KEY"},
		{name: "a key that is none", server: takes, vars: env{"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": key, "OTEL_EXPORTER_OTLP_CLIENT_KEY": key}, says: "must be a certificate and its key"},
		{name: "a proxy that is away", server: takes, vars: env{"HTTP_PROXY": user + "127.0.0.1:1", "HTTPS_PROXY": user + "127.0.0.1:1", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector.invalid:4318", "PYROSCOPE_SERVER_ADDRESS": "http://pyroscope.invalid"}, says: "proxyconnect", vain: true},
		{name: "a server of profiles that is no URL", server: takes, vars: env{"PYROSCOPE_SERVER_ADDRESS": user + "h:port"}, says: "PYROSCOPE_SERVER_ADDRESS", field: "ServerAddress"},
		{name: "headers of profiles that are no object", server: takes, vars: env{"PYROSCOPE_HTTP_HEADERS": `{"X-Token":"` + canary + `"`}, says: "PYROSCOPE_HTTP_HEADERS"},
		{name: "headers of profiles that cannot be sent", server: takes, vars: env{"PYROSCOPE_HTTP_HEADERS": `{"X-Token":"` + canary + `\n"}`}, says: "PYROSCOPE_HTTP_HEADERS", field: "Headers"},
	} {
		for k, how := range ways {
			if c.vars != nil && c.field == "" && k != i%len(ways) {
				continue // how it is sent is not what makes this case
			}
			says := c.says
			if how.fields != "" {
				says = cmp.Or(c.field, c.says)
			}
			t.Run(strings.TrimSpace(c.name+" "+how.protocol+" "+how.fields), func(t *testing.T) {
				t.Parallel()
				vain := ""
				if c.vain {
					vain = says
				}
				s := &sink{}
				address := s.serve(t, c.server, c.tls)
				cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$", canary)
				cmd.Env = []string{
					"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), blurtVariable + "=1", fieldsVariable + "=" + how.fields, "SECRET=" + canary,
					"OTEL_TRACES_EXPORTER=otlp", "OTEL_METRICS_EXPORTER=otlp", "OTEL_LOGS_EXPORTER=otlp", "PERFLINE_MARKS=both", "OTEL_EXPORTER_OTLP_PROTOCOL=" + how.protocol, "OTEL_EXPORTER_OTLP_TIMEOUT=0", "OTEL_BSP_EXPORT_TIMEOUT=0", "OTEL_BLRP_EXPORT_TIMEOUT=0", vainVariable + "=" + vain,
				}
				vars := env{"OTEL_EXPORTER_OTLP_ENDPOINT": address, "PYROSCOPE_SERVER_ADDRESS": address}
				for _, more := range []env{auth, c.vars} {
					for name, value := range more {
						vars[name] = value
					}
				}
				for name, value := range vars {
					cmd.Env = append(cmd.Env, name+"="+value)
				}
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				printed := string(out)
				if strings.Contains(printed, canary) {
					t.Errorf("printed:\n%s", lines(printed, canary))
				}
				if !strings.Contains(printed, says) {
					t.Errorf("what is printed does not say %q:\n%s", says, printed)
				}
				s.check(t)
			})
		}
	}
}

func lines(s, with string) string {
	var found strings.Builder
	for line := range strings.Lines(s) {
		if strings.Contains(line, with) {
			found.WriteString(line)
		}
	}
	return found.String()
}

// A sink is the backend of everything. It keeps what it was sent.
type sink struct {
	mu       sync.Mutex // guards what follows
	requests int
	withKey  int // requests whose headers have the secret
	bodies   [][]byte
}

// serve serves h, over HTTP/1 and HTTP/2, and returns where, with the secret in it.
func (s *sink) serve(t *testing.T, h func(*sink) http.HandlerFunc, tls bool) string {
	scheme := "http"
	var address string
	if h == nil {
		address = strings.TrimPrefix(gone, "http://")
	} else {
		server := httptest.NewUnstartedServer(h(s))
		server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // of handshakes
		server.EnableHTTP2 = true
		if tls {
			scheme = "https"
			server.StartTLS()
		} else {
			server.Config.Protocols = new(http.Protocols)
			server.Config.Protocols.SetHTTP1(true)
			server.Config.Protocols.SetUnencryptedHTTP2(true)
			server.Start()
		}
		t.Cleanup(server.Close)
		address = server.Listener.Addr().String()
	}
	return scheme + "://user:" + canary + "@" + address + "/?token=" + canary
}

// keep keeps a request, of which it returns what it was authorized with.
func (s *sink) keep(r *http.Request) (said string) {
	body, _ := io.ReadAll(r.Body) // half of it is something, too
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	_, password, _ := r.BasicAuth()
	said = fmt.Sprint(r.Header, " ", password)
	if strings.Contains(said, canary) {
		s.withKey++
	}
	s.bodies = append(s.bodies, []byte(r.URL.RawPath+r.URL.Path), []byte(r.URL.Query().Get("name")), body)
	return said
}

// check looks for the secret in what was sent, packed or not.
func (s *sink) check(t *testing.T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.withKey < s.requests {
		t.Errorf("%d of %d requests are without the secret that they need", s.requests-s.withKey, s.requests)
	}
	for _, body := range s.bodies {
		for rest := body; len(rest) > 0; {
			if bytes.Contains(rest, []byte(canary)) {
				t.Fatalf("sent: %q", rest)
			}
			at := bytes.Index(rest, []byte("\x1f\x8b\x08")) // of gzip
			if at < 0 {
				break
			}
			if z, err := gzip.NewReader(bytes.NewReader(rest[at:])); err == nil {
				if plain, _ := io.ReadAll(z); bytes.Contains(plain, []byte(canary)) {
					t.Fatalf("sent, packed: %q", plain)
				}
			}
			rest = rest[at+1:]
		}
	}
}

func isGRPC(r *http.Request) bool { return r.Header.Get("Content-Type") == "application/grpc" }

// takes takes everything.
func takes(s *sink) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.keep(r)
		if isGRPC(r) {
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Trailer", "Grpc-Status")
			_, _ = w.Write(make([]byte, 5)) // an empty message
			w.Header().Set("Grpc-Status", "0")
		}
	}
}

// quotes refuses with what it was sent, at length.
func quotes(status int) func(*sink) http.HandlerFunc {
	return func(s *sink) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			said := s.keep(r)
			if isGRPC(r) {
				w.Header().Set("Content-Type", "application/grpc")
				w.Header().Set("Grpc-Status", map[int]string{401: "16", 500: "13", 503: "14"}[status])
				w.Header().Set("Grpc-Message", said)
				return
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, said+strings.Repeat("\n\x1b[31m and more", 100_000))
		}
	}
}

// garbage answers with noise.
func garbage(s *sink) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		said := s.keep(r)
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		_, _ = io.WriteString(w, "\xff\xff\xff"+said)
	}
}

// redirects sends clients to a port that refuses connections.
func redirects(s *sink) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.keep(r)
		http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
	}
}
