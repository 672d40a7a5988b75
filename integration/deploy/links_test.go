package deploy

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// links are the settings of a data source that are one link or a list of them.
func links(v any) []map[string]any {
	switch v := v.(type) {
	case map[string]any:
		return []map[string]any{v}
	case []any:
		var all []map[string]any
		for _, one := range v {
			all = append(all, links(one)...)
		}
		return all
	}
	return nil
}

// Every data source leads to the ones that deploy/README.md says. No Grafana runs here: the names of the settings are the documentation's.
func TestLinks(t *testing.T) {
	all := sources(t)
	for _, c := range []struct {
		name          string
		from, setting string
		to            string
		fields        map[string]string // of each link
	}{
		{"from an exemplar to its trace", "prometheus", "exemplarTraceIdDestinations", "tempo", map[string]string{"name": "^(trace_id|traceID)$"}},
		{"from a span to its profile", "tempo", "tracesToProfiles", "pyroscope", map[string]string{"profileTypeId": "^" + cpu + "$", "customQuery": "^false$"}},
		{"from a span to its log records", "tempo", "tracesToLogsV2", "loki", map[string]string{
			"customQuery": "^true$", "query": `\$\$\{__tags\}.*\$\$\{__trace\.traceId\}`, "spanStartTimeShift": "^-[1-9]", "spanEndTimeShift": "^[1-9]",
		}},
		{"from a span to its service's metrics", "tempo", "tracesToMetrics", "prometheus", nil},
		{"from a service in the graph to its metrics", "tempo", "serviceMap", "prometheus", nil},
		{"from a log record to its trace", "loki", "derivedFields", "tempo", map[string]string{
			"name": ".", "matcherType": "^label$", "matcherRegex": "^trace_id$", "url": `^\$\$\{__value\.raw\}$`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := links(all[c.from].JSONData[c.setting])
			if len(found) == 0 {
				t.Fatalf("data source %q has no %s", c.from, c.setting)
			}
			for _, link := range found {
				if link["datasourceUid"] != c.to {
					t.Errorf("%v leads to %v, want %s", link, link["datasourceUid"], c.to)
				}
				for name, pattern := range c.fields {
					if s := fmt.Sprint(link[name]); !regexp.MustCompile(pattern).MatchString(s) {
						t.Errorf("%s is %q, want it to match %s", name, s, pattern)
					}
				}
				for _, tag := range links(link["tags"]) {
					if tag["key"] != "service.name" || tag["value"] != "service_name" {
						t.Errorf("the tag %v: want service.name, which is service_name in all backends", tag)
					}
				}
			}
		})
	}
	// All links have been looked at.
	known := []string{"exemplarTraceIdDestinations", "tracesToProfiles", "tracesToLogsV2", "tracesToMetrics", "serviceMap", "derivedFields"}
	for uid, s := range all {
		for _, name := range slices.Sorted(maps.Keys(s.JSONData)) {
			if len(references(s.JSONData[name])) > 0 && !slices.Contains(known, name) {
				t.Errorf("data source %q has a link %s, which no case has", uid, name)
			}
		}
	}
}

// A $ in a provisioned file begins a variable of Grafana's own environment, so the variables of links
// are written with two. The known ones are the documentation's.
func TestLinkVariables(t *testing.T) {
	known := []string{"__tags", "__trace.traceId", "__value.raw"}
	for uid, s := range sources(t) {
		for _, text := range texts(s.JSONData) {
			rest := strings.ReplaceAll(text, "$$", "")
			if strings.Contains(rest, "$") {
				t.Errorf("data source %q: %q has a $ that is not doubled", uid, text)
			}
			for _, v := range regexp.MustCompile(`\$\$\{?([\w.]*)`).FindAllStringSubmatch(text, -1) {
				if !slices.Contains(known, v[1]) {
					t.Errorf("data source %q: %q has the variable %q, want one of %v", uid, text, v[1], known)
				}
			}
		}
	}
}

// texts are all texts in a setting.
func texts(v any) []string {
	var all []string
	switch v := v.(type) {
	case string:
		all = append(all, v)
	case map[string]any:
		for _, inner := range v {
			all = append(all, texts(inner)...)
		}
	case []any:
		for _, inner := range v {
			all = append(all, texts(inner)...)
		}
	}
	return all
}
