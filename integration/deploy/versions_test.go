package deploy

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The images of docker-compose.yml have the versions of the programs that the tests run.
func TestImagesAreTheTestedVersions(t *testing.T) {
	project := load(t)
	for _, c := range []struct {
		service, file, module string
		tag                   func(major, minor, patch int) string
	}{
		{"collector", "collector/go.mod", "go.opentelemetry.io/collector/otelcol", func(_, minor, patch int) string { return fmt.Sprintf("0.%d.%d", minor, patch) }},
		// Of Jaeger 2, version 2.13 is tagged v1.76 as a Go module, and so on.
		{"jaeger", "backend/pins/jaeger.mod", "github.com/jaegertracing/jaeger", func(_, minor, patch int) string { return fmt.Sprintf("2.%d.%d", minor-63, patch) }},
		{"pyroscope", "backend/pins/pyroscope.mod", "github.com/grafana/pyroscope", func(major, minor, patch int) string { return fmt.Sprintf("%d.%d.%d", major, minor, patch) }},
		// Prometheus 3.15 is v0.315 as a Go module.
		{"prometheus", "backend/pins/prometheus.mod", "github.com/prometheus/prometheus", func(_, minor, patch int) string {
			return fmt.Sprintf("v%d.%d.%d", minor/100, minor%100, patch)
		}},
	} {
		t.Run(c.service, func(t *testing.T) {
			mod, err := os.ReadFile(filepath.Join(root, "integration", c.file))
			if err != nil {
				t.Fatal(err)
			}
			version := regexp.MustCompile(`(?m)^\t` + regexp.QuoteMeta(c.module) + ` v(\d+\.\d+\.\d+)\b`).FindSubmatch(mod)
			if version == nil {
				t.Fatalf("%s does not require %s", c.file, c.module)
			}
			var major, minor, patch int
			if _, err := fmt.Sscanf(string(version[1]), "%d.%d.%d", &major, &minor, &patch); err != nil {
				t.Fatal(err)
			}
			_, tag, _ := strings.Cut(project.Services[c.service].Image, ":")
			if want := c.tag(major, minor, patch); tag != want {
				t.Errorf("the image is %s, and the tests run %s %s: want tag %s", project.Services[c.service].Image, c.module, version[1], want)
			}
		})
	}
}

// Loki is not run by any test. Its file has the port that its neighbours ask and the labels that the
// queries of the links and dashboards select by.
func TestLokiFile(t *testing.T) {
	var file struct {
		Server struct {
			HTTP int `yaml:"http_listen_port"`
			GRPC int `yaml:"grpc_listen_port"`
		}
		Common struct {
			Path string `yaml:"path_prefix"`
		}
		FrontendWorker struct {
			Address string `yaml:"frontend_address"`
		} `yaml:"frontend_worker"`
		Limits struct {
			OTLP struct {
				Resource struct {
					IgnoreDefaults bool `yaml:"ignore_defaults"`
					Attributes     []struct {
						Action     string
						Attributes []string
					} `yaml:"attributes_config"`
				} `yaml:"resource_attributes"`
			} `yaml:"otlp_config"`
		} `yaml:"limits_config"`
	}
	decode(t, filepath.Join(root, "deploy", "loki.yaml"), &file)
	loki := load(t).Services["loki"]
	address := fmt.Sprintf("http://127.0.0.1:%d/", file.Server.HTTP)
	if test := strings.Join(loki.HealthCheck.Test, " "); !strings.Contains(test, address) {
		t.Errorf("its health is asked by %s, want at %s", test, address)
	}
	if want := fmt.Sprintf("http://loki:%d", file.Server.HTTP); sources(t)["loki"].URL != want {
		t.Errorf("Grafana asks %s, want %s", sources(t)["loki"].URL, want)
	}
	if want := fmt.Sprintf("127.0.0.1:%d", file.Server.GRPC); file.FrontendWorker.Address != want {
		t.Errorf("frontend_address is %s, want %s", file.FrontendWorker.Address, want)
	}
	collector, err := os.ReadFile(filepath.Join(root, "deploy", "collector.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("endpoint: ${env:LOGS_OTLP_ENDPOINT:-http://loki:%d/otlp}", file.Server.HTTP); !strings.Contains(string(collector), want) {
		t.Errorf("deploy/collector.yaml does not have %s", want)
	}
	labels := file.Limits.OTLP.Resource
	if !labels.IgnoreDefaults || fmt.Sprint(labels.Attributes) != "[{index_label [service.name service.namespace]}]" {
		t.Errorf("the labels are %+v, want service.name and service.namespace only", labels)
	}
	for _, v := range loki.Volumes {
		if v.Target == file.Common.Path {
			return
		}
	}
	t.Errorf("path_prefix %s is no volume of %+v", file.Common.Path, loki.Volumes)
}
