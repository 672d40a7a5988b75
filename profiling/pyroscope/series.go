package pyroscope

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/perfline/perfline/internal/environ"
)

// Limits of the server, which are its defaults, and what we make of them.
const (
	maxNameBytes    = 1024 // of a label's name
	maxValueBytes   = 2048 // of a label's value
	maxSeriesLabels = 30   // of a series, with the labels of its samples
	// serverLabels are those that the server adds before it counts: __name__, __delta__,
	// service_name, pyroscope_spy, __order__; and our __session_id__.
	serverLabels = 6
	maxTags      = 15
)

// fromResource are the attributes that become tags.
var fromResource = []attribute.Key{
	semconv.ServiceNamespaceKey, semconv.ServiceVersionKey, semconv.ServiceInstanceIDKey, semconv.DeploymentEnvironmentNameKey,
}

// resolveName finds the application's name.
func (c *Config) resolveName(vars *environ.Reader) error {
	if name := strings.TrimSpace(c.ApplicationName); name != "" {
		if strings.ContainsFunc(name, notOfName) {
			return wrong("ApplicationName", envName, name)
		}
		c.ApplicationName = name
		return nil
	}
	service, _ := c.Resource.Set().Value(semconv.ServiceNameKey)
	c.ApplicationName = environ.Read(vars, strings.Map(func(r rune) rune {
		if notOfName(r) {
			return '_'
		}
		return r
	}, strings.TrimSpace(service.AsString())), func(name string) (string, bool) {
		return name, !strings.ContainsFunc(name, notOfName)
	}, envName)
	if c.ApplicationName == "" {
		return fmt.Errorf("pyroscope: no name for the application: give ApplicationName, %s, or a Resource with service.name", envName)
	}
	return nil
}

func notOfName(r rune) bool {
	return !isLetter(r) && !isDigit(r) && !strings.ContainsRune("_.-/", r)
}

// resolveTags checks the tags given, and adds those of the resource.
func (c *Config) resolveTags(vars *environ.Reader) (map[string]string, error) {
	own, err := checkTags(c.Tags)
	if err != nil {
		return nil, err
	}
	if len(own) > maxTags {
		return nil, fmt.Errorf("pyroscope: %d tags in Tags: must be at most %d", len(own), maxTags)
	}
	tags, err := parseTags(environ.Get(envLabels))
	if err == nil {
		maps.Copy(tags, own)
	}
	if err != nil || len(tags) > maxTags {
		vars.Warn(envLabels, environ.Default(envLabels))
		tags = own
	}
	for _, key := range fromResource {
		name := underscored(string(key))
		if _, known := tags[name]; known {
			continue
		}
		if value, ok := c.Resource.Set().Value(key); ok {
			if v := fitTag(value.String()); v != "" {
				tags[name] = v
			}
		}
	}
	return tags, nil
}

// parseTags reads name=value,name=value.
func parseTags(raw string) (map[string]string, error) {
	tags := map[string]string{}
	for pair := range strings.SplitSeq(raw, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		if _, twice := tags[name]; twice || !ok {
			return nil, errors.New("not name=value, or twice")
		}
		tags[name] = value
	}
	return checkTags(tags)
}

// checkTags returns tags by the names that the server gives them, without those that are
// empty.
func checkTags(given map[string]string) (map[string]string, error) {
	tags, first := map[string]string{}, map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		fail := func(rule string, args ...any) error {
			return fmt.Errorf("pyroscope: Tags: name %q: %s", name, fmt.Sprintf(rule, args...))
		}
		value, label := strings.TrimSpace(given[name]), underscored(name)
		switch {
		case name == "" || isDigit(rune(name[0])) || name[0] == '.' || strings.ContainsFunc(name, notOfTag):
			return nil, fail("must be [a-zA-Z_][a-zA-Z0-9_.]*")
		case len(name) > maxNameBytes:
			return nil, fail("must have at most %d bytes", maxNameBytes)
		case strings.HasPrefix(label, "__"), reservedTag[label]:
			return nil, fail("is one of the server's or the profiler's own: those that begin with __, and %s", strings.Join(slices.Sorted(maps.Keys(reservedTag)), ", "))
		case first[label] != "":
			return nil, fail("the server takes it for %q, which is given, too: dots become underscores there", first[label])
		case strings.ContainsAny(value, ",}"), !environ.Sendable(value):
			return nil, fail(`value %q: must have no ",", no "}" and no control characters`, value)
		case len(value) > maxValueBytes:
			return nil, fail("value of %d bytes: must have at most %d", len(value), maxValueBytes)
		case !utf8.ValidString(value):
			return nil, fail("value %q: must be UTF-8", value)
		}
		first[label] = name
		if value != "" {
			tags[label] = value
		}
	}
	return tags, nil
}

// reservedTag are names that the server or the samples have already.
var reservedTag = map[string]bool{
	"service_name": true, "pyroscope_spy": true,
	labelSpanID: true, labelSpanName: true, labelTraceID: true, labelProfileID: true,
}

func notOfTag(r rune) bool { return !isLetter(r) && !isDigit(r) && r != '_' && r != '.' }

func underscored(name string) string { return strings.ReplaceAll(name, ".", "_") }

// fitTag makes a value fit for a series' name.
func fitTag(value string) string {
	return strings.TrimSpace(fitValue(strings.Map(func(r rune) rune {
		if r == ',' || r == '}' {
			return '_'
		}
		return r
	}, value)))
}

// seriesName is a series as the server's /ingest reads it: app{name=value,…}.
func seriesName(app, session string, tags map[string]string) string {
	all := maps.Clone(tags)
	all["__session_id__"] = session
	pairs := make([]string, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		pairs = append(pairs, name+"="+all[name])
	}
	return app + "{" + strings.Join(pairs, ",") + "}"
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
func isDigit(r rune) bool  { return r >= '0' && r <= '9' }
