package deploy

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
	"go.yaml.in/yaml/v4"
)

// A target is a query of a panel.
type target struct {
	RefID      string     `json:"refId"`
	Datasource datasource `json:"datasource"`
	Expr       string     `json:"expr"` // to Prometheus and Loki
	Exemplar   bool       `json:"exemplar"`

	ProfileType string `json:"profileTypeId"` // to Pyroscope
	Labels      string `json:"labelSelector"`

	QueryType string `json:"queryType"` // to Tempo
	Query     string `json:"query"`
}

type datasource struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

type dashboard struct {
	UID, Title string
	Panels     []struct {
		ID         int
		Type       string
		Title      string
		GridPos    struct{ X, Y, W, H int }
		Datasource *datasource
		Targets    []target
	}
	Links []struct {
		Title, URL string
	}
	Templating struct {
		List []struct {
			Name       string
			Datasource datasource
			Query      struct{ Query string }
			Current    struct{ Value string }
		}
	}
}

// dashboards returns the dashboards of deploy/grafana/dashboards, by file.
func dashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	dir := filepath.Join(root, "deploy", "grafana", "dashboards")
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]dashboard{}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(data, &d); err != nil {
			t.Fatalf("%s: %v", f.Name(), err)
		}
		all[f.Name()] = d
	}
	if len(all) == 0 {
		t.Fatalf("no dashboards in %s", dir)
	}
	return all
}

// A source is a data source as it is provisioned.
type source struct {
	Name, UID, Type, URL string
	JSONData             map[string]any `yaml:"jsonData"`
}

// sources are the provisioned ones, by uid.
func sources(t *testing.T) map[string]source {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "deploy", "grafana", "provisioning", "datasources", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no data sources are provisioned: %v", err)
	}
	all := map[string]source{}
	for _, f := range files {
		var file struct {
			APIVersion  int `yaml:"apiVersion"`
			Datasources []source
		}
		decode(t, f, &file)
		if file.APIVersion != 1 {
			t.Errorf("%s: apiVersion %d, must be 1", f, file.APIVersion)
		}
		for _, s := range file.Datasources {
			if _, twice := all[s.UID]; twice {
				t.Errorf("%s: two data sources have uid %q", f, s.UID)
			}
			all[s.UID] = s
		}
	}
	return all
}

func decode(t *testing.T, file string, v any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, v); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// The data sources go to services of the compose file, at ports that their configurations say.
func TestDataSources(t *testing.T) {
	project, all := load(t), sources(t)
	want := map[string]string{"tempo": "tempo", "jaeger": "jaeger", "pyroscope": "grafana-pyroscope-datasource", "prometheus": "prometheus", "loki": "loki"}
	for uid, kind := range want {
		s := all[uid]
		if s.Type != kind {
			t.Errorf("data source %q has type %q, want %q", uid, s.Type, kind)
		}
		u, err := url.Parse(s.URL)
		if err != nil {
			t.Errorf("data source %q: %v", uid, err)
			continue
		}
		service, ok := project.Services[u.Hostname()]
		if !ok {
			t.Errorf("data source %q goes to %s, which is no service", uid, s.URL)
			continue
		}
		// The port is told by the health check, or by what the service publishes.
		known := slices.ContainsFunc(service.Ports, func(p types.ServicePortConfig) bool { return fmt.Sprint(p.Target) == u.Port() })
		if !known && !strings.Contains(strings.Join(service.HealthCheck.Test, " "), ":"+u.Port()+"/") {
			t.Errorf("data source %q goes to port %s of %s, which neither publishes it nor is asked there for its health", uid, u.Port(), u.Hostname())
		}
	}
	if len(all) != len(want) {
		t.Errorf("data sources %v, want %d", slices.Sorted(maps.Keys(all)), len(want))
	}
	for uid, s := range all {
		for _, to := range references(s.JSONData) {
			if _, ok := all[to]; !ok {
				t.Errorf("data source %q refers to %q, which is none", uid, to)
			}
		}
	}
}

// references are the uids of data sources in what a data source is told.
func references(v any) []string {
	var uids []string
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if uid, ok := inner.(string); ok && name == "datasourceUid" {
				uids = append(uids, uid)
			}
			uids = append(uids, references(inner)...)
		}
	case []any:
		for _, inner := range v {
			uids = append(uids, references(inner)...)
		}
	}
	return uids
}

// Dashboards are provisioned from where compose mounts them, and ask data sources that there are.
func TestDashboards(t *testing.T) {
	project, all := load(t), sources(t)
	var providers struct {
		APIVersion int `yaml:"apiVersion"`
		Providers  []struct {
			Type    string
			Options struct{ Path string }
		}
	}
	decode(t, filepath.Join(root, "deploy", "grafana", "provisioning", "dashboards", "perfline.yaml"), &providers)
	if providers.APIVersion != 1 || len(providers.Providers) != 1 || providers.Providers[0].Type != "file" {
		t.Fatalf("providers %+v: want one, of files", providers)
	}
	mounted := ""
	for _, v := range project.Services["grafana"].Volumes {
		if strings.HasSuffix(v.Source, "deploy/grafana/dashboards") {
			mounted = v.Target
		}
	}
	if providers.Providers[0].Options.Path != mounted {
		t.Errorf("dashboards are looked for in %q, and mounted at %q", providers.Providers[0].Options.Path, mounted)
	}
	if home := value(project.Services["grafana"], "GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"); home != mounted+"/perfline.json" {
		t.Errorf("the home page is %q, want the dashboard in %s", home, mounted)
	}
	published := map[string]bool{}
	for _, s := range project.Services {
		for _, p := range s.Ports {
			published[p.Published] = true
		}
	}
	for file, d := range dashboards(t) {
		t.Run(file, func(t *testing.T) {
			if d.UID+".json" != file || d.Title == "" || len(d.Panels) == 0 {
				t.Errorf("uid %q, title %q, %d panels: want the file's name, a title and panels", d.UID, d.Title, len(d.Panels))
			}
			for _, l := range d.Links {
				if u, err := url.Parse(l.URL); err != nil || u.Hostname() != "localhost" || !published[u.Port()] {
					t.Errorf("link %q goes to %s, which compose does not publish", l.Title, l.URL)
				}
			}
			ids, taken := map[int]bool{}, map[[2]int]string{}
			for _, p := range d.Panels {
				if ids[p.ID] {
					t.Errorf("%q: panel id %d is another's", p.Title, p.ID)
				}
				ids[p.ID] = true
				for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
					for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
						if other, is := taken[[2]int{x, y}]; is || x >= 24 {
							t.Fatalf("%q lies over %q, or the edge, at %d, %d", p.Title, other, x, y)
						}
						taken[[2]int{x, y}] = p.Title
					}
				}
				if p.Type == "row" {
					continue
				}
				if len(p.Targets) == 0 {
					t.Errorf("%q asks nothing", p.Title)
				}
				asked := []datasource{*p.Datasource}
				for _, target := range p.Targets {
					asked = append(asked, target.Datasource)
				}
				for _, ds := range asked {
					if s, ok := all[ds.UID]; !ok || s.Type != ds.Type {
						t.Errorf("%q asks %+v, which is not provisioned", p.Title, ds)
					}
				}
			}
			variables := map[string]bool{"__rate_interval": true}
			for _, v := range d.Templating.List {
				variables[v.Name] = true
				if s, ok := all[v.Datasource.UID]; !ok || s.Type != v.Datasource.Type {
					t.Errorf("variable %q asks %+v, which is not provisioned", v.Name, v.Datasource)
				}
			}
			for _, p := range d.Panels {
				for _, target := range p.Targets {
					for _, v := range regexp.MustCompile(`\$(\w+)`).FindAllStringSubmatch(target.Expr+target.Labels+target.Query, -1) {
						if !variables[v[1]] {
							t.Errorf("%q uses %s, which is no variable", p.Title, v[0])
						}
					}
				}
			}
		})
	}
}
