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

// Default limits of the server, and limits that follow from them.
const (
	maxNameBytes    = 1024 // of a label's name
	maxValueBytes   = 2048 // of a label's value
	maxSeriesLabels = 30   // of a series, the labels of its samples included
	// ownLabels are the five labels of an exporter's series, and __order__, which the server may
	// add before it counts.
	ownLabels = 6
	maxTags   = 15
)

// fromResource lists the attributes that become tags.
var fromResource = []attribute.Key{
	semconv.ServiceNamespaceKey, semconv.ServiceVersionKey, semconv.ServiceInstanceIDKey,
	semconv.DeploymentEnvironmentNameKey,
}

// resolveName finds the application's name. The server accepts any text. Its older API accepted
// only these characters, so other characters are mostly a mistake, such as pyroscope-go's tags in
// braces.
func (c *Config) resolveName(vars *environ.Reader) error {
	if name := strings.TrimSpace(c.ApplicationName); name != "" {
		if !isName(name) {
			return wrong("ApplicationName", envName, name)
		}
		c.ApplicationName = name
		return nil
	}
	service, _ := c.Resource.Set().Value(semconv.ServiceNameKey)
	c.ApplicationName = environ.Read(vars, fitValue(strings.Map(func(r rune) rune {
		if notOfName(r) {
			return '_'
		}
		return r
	}, strings.TrimSpace(service.AsString()))), func(name string) (string, bool) {
		return name, isName(name)
	}, envName)
	if c.ApplicationName == "" {
		return fmt.Errorf("no name for the application: give ApplicationName, %s, or a Resource with service.name", envName)
	}
	return nil
}

func isName(s string) bool { return len(s) <= maxValueBytes && !strings.ContainsFunc(s, notOfName) }

func notOfName(r rune) bool {
	return !isLetter(r) && !isDigit(r) && !strings.ContainsRune("_.-/", r)
}

// resolveTags checks the tags, and adds the resource's.
func (c *Config) resolveTags(vars *environ.Reader) (map[string]string, error) {
	own, err := checkTags(c.Tags)
	if err != nil {
		return nil, err
	}
	if len(own) > maxTags {
		return nil, fmt.Errorf("%d tags in Tags: must be at most %d", len(own), maxTags)
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
			if v := strings.TrimSpace(fitValue(value.String())); v != "" {
				tags[name] = v
			}
		}
	}
	return tags, nil
}

// parseTags parses name=value,name=value.
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

// checkTags returns the tags with a value, by their names in the server.
func checkTags(given map[string]string) (map[string]string, error) {
	tags, first := map[string]string{}, map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		fail := func(rule string, args ...any) error {
			return fmt.Errorf("Tags: name %q: %s", name, fmt.Sprintf(rule, args...)) //nolint:staticcheck // names a field
		}
		value, label := strings.TrimSpace(given[name]), underscored(name)
		switch {
		case name == "" || isDigit(rune(name[0])) || name[0] == '.' ||
			strings.ContainsFunc(name, notOfTag):
			return nil, fail("must be [a-zA-Z_][a-zA-Z0-9_.]*")
		case len(name) > maxNameBytes:
			return nil, fail("must have at most %d bytes", maxNameBytes)
		case strings.HasPrefix(label, "__"), reservedTag[label]:
			return nil, fail("is one of the server's or the profiler's own: those that begin with __, and %s", strings.Join(slices.Sorted(maps.Keys(reservedTag)), ", "))
		case first[label] != "":
			return nil, fail("the server takes it for %q, which is given, too: dots become underscores there", first[label])
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

// reservedTag has the names that series or samples use.
var reservedTag = map[string]bool{
	labelService: true, labelSpy: true,
	labelSpanID: true, labelSpanName: true, labelTraceID: true, labelProfileID: true,
}

func notOfTag(r rune) bool { return !isLetter(r) && !isDigit(r) && r != '_' && r != '.' }

func underscored(name string) string { return strings.ReplaceAll(name, ".", "_") }

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
func isDigit(r rune) bool  { return r >= '0' && r <= '9' }
