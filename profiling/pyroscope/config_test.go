package pyroscope_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.uber.org/goleak"

	"github.com/perfline/perfline/internal/continuous"
	"github.com/perfline/perfline/internal/leaktest"
	"github.com/perfline/perfline/profiling/pyroscope"
)

// The variables.
const (
	envAddress  = "PYROSCOPE_SERVER_ADDRESS"
	envName     = "PYROSCOPE_APPLICATION_NAME"
	envLabels   = "PYROSCOPE_LABELS"
	envUser     = "PYROSCOPE_BASIC_AUTH_USER"
	envPassword = "PYROSCOPE_BASIC_AUTH_PASSWORD"
	envTenant   = "PYROSCOPE_TENANT_ID"
	envHeaders  = "PYROSCOPE_HTTP_HEADERS"
	envInterval = "PYROSCOPE_UPLOAD_INTERVAL"
	envLeaks    = "PERFLINE_LEAK_INTERVAL"
)

const maxTags = 15 // of Config

func TestMain(m *testing.M) {
	for _, v := range []string{envAddress, envName, envLabels, envUser, envPassword, envTenant, envHeaders, envInterval, envLeaks} {
		_ = os.Unsetenv(v)
	}
	// Parallel tests wait, and take little of the processors.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	leaktest.Main(m, goleak.IgnoreAnyFunction(leakingFunction)) // which leaks one on purpose
}

func service(name string, more ...attribute.KeyValue) *resource.Resource {
	return resource.NewSchemaless(append(more, attribute.String("service.name", name))...)
}

// tags are the labels but for those that all profiles have.
func (r *received) tags() map[string]string {
	tags := maps.Clone(r.labels)
	for _, own := range []string{"__name__", "__delta__", "__session_id__", "pyroscope_spy", "service_name"} {
		delete(tags, own)
	}
	return tags
}

// firstPush returns the first request of a pusher in a bubble, and the time until it came.
func firstPush(t *testing.T, c pyroscope.Config) (first *received, after time.Duration) {
	t.Helper()
	n := &network{t: t}
	c.HTTPClient = &http.Client{Transport: n}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	began := time.Now()
	p, err := pyroscope.StartProcess(c, pyroscope.Process{Now: time.Now, Profiler: func(func()) (pyroscope.Profiler, error) { return &played{}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Minute)
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	return n.got[0], n.at[0].Sub(began)
}

// Each field wins over its variable, which counts when the field is not set.
func TestConfig(t *testing.T) {
	fields := pyroscope.Config{
		ServerAddress: "http://field:4040/base", ApplicationName: "field/app-1.2_x", Tags: map[string]string{"zone": "field", "a.b": "c"},
		BasicAuthUser: "field", BasicAuthPassword: " fieldpass ", TenantID: "field", Headers: map[string]string{"X-A": "field"},
		UploadInterval: time.Second,
	}
	env := map[string]string{
		envAddress: " https://env ", envName: "env", envLabels: "zone=env, other = x=y ,,", envUser: "env", envPassword: "envpass",
		envTenant: "env", envHeaders: `{"X-B":"env"}`, envInterval: "1m",
	}
	for _, c := range []struct {
		name   string
		config pyroscope.Config
		env    map[string]string
		want   string
	}{
		{
			"neither", pyroscope.Config{ServerAddress: "http://h"}, nil,
			"http://h unknown_service_shop    15s map[]",
		},
		{
			"variables", pyroscope.Config{}, env,
			"https://env env env/envpass env env 1m0s map[other:x=y zone:env]",
		},
		{
			"both", fields, env,
			"http://field:4040/base field/app-1.2_x field/ fieldpass  field field 1s map[a_b:c other:x=y zone:field]",
		},
		{
			"empty counts as unset", pyroscope.Config{ServerAddress: "\t", ApplicationName: " ", Headers: map[string]string{}, Tags: map[string]string{"zone": " "}}, env,
			"https://env env env/envpass env env 1m0s map[other:x=y zone:env]",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			c.config.Resource = service("unknown_service:shop")
			synctest.Test(t, func(t *testing.T) {
				r, interval := firstPush(t, c.config)
				user, password, _ := (&http.Request{Header: r.header}).BasicAuth()
				got := fmt.Sprint(r.host, strings.TrimSuffix(r.path, "/push.v1.PusherService/Push"), " ", r.labels["service_name"], " ", strings.TrimPrefix(user+"/"+password, "/"), " ",
					r.header.Get("X-Scope-OrgID"), " ", r.header.Get("X-A"), r.header.Get("X-B"), " ", interval, " ", r.tags())
				if got != c.want {
					t.Errorf("resolved to\n%s, want\n%s", got, c.want)
				}
			})
		})
	}
}

// many are n tags.
func many(n int) map[string]string {
	tags := map[string]string{}
	for i := range n {
		tags[fmt.Sprintf("t%d", i)] = "x"
	}
	return tags
}

// A wrong value is an error of Start, which names the field or variable, the value and the rule.
func TestConfigErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		config pyroscope.Config
		env    map[string]string
		want   string
	}{
		{"no address", pyroscope.Config{}, nil, "no server: give ServerAddress or PYROSCOPE_SERVER_ADDRESS"},
		{"address without scheme", pyroscope.Config{ServerAddress: "localhost:4040"}, nil, `ServerAddress "localhost:4040": must be a URL`},
		{"another scheme", pyroscope.Config{ServerAddress: "ftp://h"}, nil, `ServerAddress "ftp://h": must be a URL`},
		{"no host", pyroscope.Config{ServerAddress: "http://:4040"}, nil, `ServerAddress "http://:4040": must be a URL`},
		{"address of the variable", pyroscope.Config{}, map[string]string{envAddress: "http://u:hunter2@h:x/"}, `PYROSCOPE_SERVER_ADDRESS "…@h:x/": must be a URL`},
		{"name", pyroscope.Config{ApplicationName: "my app"}, nil, `ApplicationName "my app": must have letters, digits and _ . - / only`},
		{"no name at all", pyroscope.Config{Resource: resource.Empty()}, nil, "no name for the application"},
		{"user without password", pyroscope.Config{BasicAuthUser: "u"}, nil, "give BasicAuthPassword or PYROSCOPE_BASIC_AUTH_PASSWORD, too"},
		{"password without user", pyroscope.Config{}, map[string]string{envPassword: "hunter2"}, "give BasicAuthUser or PYROSCOPE_BASIC_AUTH_USER, too"},
		{"tenant", pyroscope.Config{TenantID: "a\nb"}, nil, `TenantID "a\nb": must be UTF-8 without control characters`},
		{"tenant of the variable", pyroscope.Config{}, map[string]string{envTenant: "a\x01b"}, `PYROSCOPE_TENANT_ID "a\x01b": must be UTF-8 without control characters`},
		{"user", pyroscope.Config{BasicAuthUser: "\xff", BasicAuthPassword: "hunter2"}, nil, `BasicAuthUser "\xff": must be UTF-8 without control characters`},
		{"password", pyroscope.Config{BasicAuthUser: "u", BasicAuthPassword: "hunter2\n"}, nil, `BasicAuthPassword "xxxxx": must be UTF-8 without control characters`},
		{"password of the variable", pyroscope.Config{BasicAuthUser: "u"}, map[string]string{envPassword: "hunter2\xff"}, `PYROSCOPE_BASIC_AUTH_PASSWORD (8 bytes): must be UTF-8 without control characters`},
		{"header name", pyroscope.Config{Headers: map[string]string{"X A": "hunter2"}}, nil, `Headers: name "X A": must be a header's name`},
		{"empty header name", pyroscope.Config{Headers: map[string]string{"": "hunter2"}}, nil, `Headers: name "": must be a header's name`},
		{"header value", pyroscope.Config{Headers: map[string]string{"X": "hunter2\n"}}, nil, `Headers: value of "X": must have no control characters`},
		{"headers that are no object", pyroscope.Config{}, map[string]string{envHeaders: "X=hunter2"}, "PYROSCOPE_HTTP_HEADERS (9 bytes): must be a JSON object of strings"},
		{"headers that are no strings", pyroscope.Config{}, map[string]string{envHeaders: `{"hunter2":1}`}, "PYROSCOPE_HTTP_HEADERS (13 bytes): must be a JSON object of strings"},
		{"interval", pyroscope.Config{UploadInterval: time.Second - 1}, nil, "UploadInterval 999.999999ms: must be between 1s and 30m0s"},
		{"negative interval", pyroscope.Config{UploadInterval: -1}, nil, "UploadInterval -1ns: must be between 1s and 30m0s"},
		{"port", pyroscope.Config{ServerAddress: "http://h:99999"}, nil, `ServerAddress "http://h:99999": must be a URL`},
		{"long interval", pyroscope.Config{UploadInterval: 31 * time.Minute}, nil, "UploadInterval 31m0s: must be between 1s and 30m0s"},
		{"short leak interval", pyroscope.Config{LeakInterval: time.Second - 1}, nil, "LeakInterval 999.999999ms: must be between 1s and 24h0m0s, or negative for none"},
		{"long leak interval", pyroscope.Config{LeakInterval: 25 * time.Hour}, nil, "LeakInterval 25h0m0s: must be between 1s and 24h0m0s, or negative for none"},
		{"password with a question mark", pyroscope.Config{ServerAddress: "http://user:hun?ter2@h"}, nil, `ServerAddress "…": must be a URL`},
		{"queue", pyroscope.Config{QueueBytes: -1}, nil, "QueueBytes -1: must not be negative"},
		{"too many tags", pyroscope.Config{Tags: many(maxTags + 1)}, nil, "16 tags in Tags: must be at most 15"},
		{"tag without name", pyroscope.Config{Tags: map[string]string{"": "x"}}, nil, `Tags: name "": must be [a-zA-Z_]`},
		{"tag with a digit first", pyroscope.Config{Tags: map[string]string{"1a": "x"}}, nil, `name "1a": must be [a-zA-Z_]`},
		{"tag with a dot first", pyroscope.Config{Tags: map[string]string{".a": "x"}}, nil, `name ".a": must be [a-zA-Z_]`},
		{"tag of other letters", pyroscope.Config{Tags: map[string]string{"é": "x"}}, nil, `name "é": must be [a-zA-Z_]`},
		{"private tag", pyroscope.Config{Tags: map[string]string{"__a": "x"}}, nil, `name "__a": is one of the server's or the profiler's own`},
		{"private tag by its dot", pyroscope.Config{Tags: map[string]string{"_.a": "x"}}, nil, `name "_.a": is one of the server's or the profiler's own`},
		{"service_name", pyroscope.Config{Tags: map[string]string{"service.name": "x"}}, nil, `name "service.name": is one of the server's or the profiler's own`},
		{"span_id", pyroscope.Config{Tags: map[string]string{"span_id": "x"}}, nil, `name "span_id": is one of the server's or the profiler's own`},
		{"equal tags", pyroscope.Config{Tags: map[string]string{"a.b": "x", "a_b": "y"}}, nil, `name "a_b": the server takes it for "a.b", which is given, too`},
		{"long tag name", pyroscope.Config{Tags: map[string]string{strings.Repeat("a", 1025): "x"}}, nil, "must have at most 1024 bytes"},
		{"long value", pyroscope.Config{Tags: map[string]string{"a": strings.Repeat("x", 2049)}}, nil, `name "a": value of 2049 bytes: must have at most 2048`},
		{"value that is no text", pyroscope.Config{Tags: map[string]string{"a": "\xff"}}, nil, `name "a": value "\xff": must be UTF-8`},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			if c.config.ServerAddress == "" && c.env[envAddress] == "" && c.name != "no address" {
				c.config.ServerAddress = "http://127.0.0.1:1"
			}
			if c.config.Resource == nil {
				c.config.Resource = service("shop")
			}
			p, err := pyroscope.Start(t.Context(), c.config)
			if err == nil {
				_ = p.Shutdown(t.Context())
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "pyroscope: ") {
				t.Errorf("error %q, want one with %q", err, c.want)
			}
			if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "hun?") {
				t.Errorf("error %q tells a secret", err)
			}
		})
	}
}

// A wrong variable that does no harm is logged, and its default counts.
func TestWrongVariables(t *testing.T) {
	for _, c := range []struct {
		name, variable, value string
		tags                  map[string]string
		want                  string // in the log
	}{
		{"name", envName, "a{b=c}", nil, `value="a{b=c}" rule="must have letters, digits and _ . - / only" instead=shop`},
		{"interval out of range", envInterval, "0s", nil, `value=0s rule="must be a duration from 1s to 30m, as 15s" instead=15s`},
		{"no duration", envInterval, "15", nil, `value=15 rule=`},
		{"label without value", envLabels, "a=b,c", nil, `value="a=b,c" rule="must be name=value, separated by commas`},
		{"label twice", envLabels, "a=b,a=c", nil, "instead=none"},
		{"label's name", envLabels, "a-b=c", nil, "instead=none"},
		{"label's value", envLabels, "a=\xff", nil, "instead=none"},
		{"one label too many", envLabels, "a=b", many(maxTags), "instead=none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(c.variable, c.value)
			var log bytes.Buffer
			synctest.Test(t, func(t *testing.T) {
				r, interval := firstPush(t, pyroscope.Config{ServerAddress: "http://h", Resource: service("shop"), Tags: c.tags, Logger: slog.New(slog.NewTextHandler(&log, nil))})
				if r.labels["service_name"] != "shop" || interval != 15*time.Second || len(r.tags()) != len(c.tags) {
					t.Errorf("name %q, interval %v, tags %v; want the defaults", r.labels["service_name"], interval, r.tags())
				}
			})
			if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "variable="+c.variable+" ") || !strings.Contains(got, c.want) {
				t.Errorf("logged %s, want one line with %s and %s", got, c.variable, c.want)
			}
		})
	}
}

func addressed(c pyroscope.Config) bool { return pyroscope.New(c).(*continuous.Exporter).Addressed() }

func TestEnabled(t *testing.T) {
	if addressed(pyroscope.Config{ServerAddress: " "}) {
		t.Error("enabled without an address")
	}
	if !addressed(pyroscope.Config{ServerAddress: "x"}) {
		t.Error("not enabled by the field")
	}
	t.Setenv(envAddress, "x")
	if !addressed(pyroscope.Config{}) {
		t.Error("not enabled by the variable")
	}
}

func TestConfigHasNoSecretsToShow(t *testing.T) {
	for _, address := range []string{"http://hunter2:hunter2@h/p?token=hunter2", "http://hunter2@h:x/p?hunter2", "hunter2@h"} {
		c := pyroscope.Config{
			ServerAddress: address, ApplicationName: "shop", BasicAuthUser: "u", BasicAuthPassword: "hunter2",
			Headers: map[string]string{"X-Token": "hunter2"}, HTTPClient: http.DefaultClient,
		}
		for _, got := range []string{fmt.Sprint(c), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c), fmt.Sprint(&c)} {
			if strings.Contains(got, "hunter2") {
				t.Errorf("%s tells a secret", got)
			}
			for _, want := range []string{"h", "shop", "X-Token"} {
				if !strings.Contains(got, want) {
					t.Errorf("%s does not tell %q", got, want)
				}
			}
		}
	}
}

// A service's description becomes tags, whatever is in it; tags given win.
func TestTagsOfResource(t *testing.T) {
	c := pyroscope.Config{
		ServerAddress: "http://h", Tags: map[string]string{"service.version": "given"},
		Resource: service("étoile:shop {1}", attribute.String("service.namespace", " a,b}c "), attribute.String("service.version", "1"),
			attribute.String("service.instance.id", strings.Repeat("x", 2047)+"é"), attribute.String("deployment.environment.name", "\xff"),
			attribute.String("host.name", "not this")),
	}
	want := map[string]string{
		"service_namespace": "a,b}c", "service_version": "given",
		"service_instance_id": strings.Repeat("x", 2047), "deployment_environment_name": "\uFFFD",
	}
	synctest.Test(t, func(t *testing.T) {
		r, _ := firstPush(t, c)
		if tags := r.tags(); !maps.Equal(tags, want) || r.labels["service_name"] != "_toile_shop__1_" {
			t.Errorf("name %q, tags %v, want %v", r.labels["service_name"], tags, want)
		}
	})
}

// echo is a server that refuses, and says what it was sent.
type echo struct{}

func (echo) RoundTrip(r *http.Request) (*http.Response, error) {
	_, password, _ := r.BasicAuth()
	return &http.Response{StatusCode: http.StatusUnauthorized, Body: io.NopCloser(strings.NewReader("not " + password)), Request: r}, nil
}

func TestEchoedSecretIsHidden(t *testing.T) {
	var log testLog
	p := play(t, pyroscope.Config{BasicAuthUser: "user", BasicAuthPassword: `quo"ted`, HTTPClient: &http.Client{Transport: echo{}}, Logger: log.logger()}, time.Now, &played{})
	if err := p.Flush(t.Context()); err == nil || !strings.HasSuffix(err.Error(), `: not xxxxx`) {
		t.Errorf("error %v, want one with the password hidden", err)
	}
	log.want(t, "not xxxxx")
}
