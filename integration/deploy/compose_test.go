package deploy

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// root is the repository's.
const root = "../.."

// load is the compose file as an engine would take it, without this machine's variables.
func load(t *testing.T) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{filepath.Join(root, "docker-compose.yml")}, cli.WithName("perfline"))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// value is a service's variable, empty if it has none.
func value(s types.ServiceConfig, name string) string {
	if v := s.Environment[name]; v != nil {
		return *v
	}
	return ""
}

var (
	// exact is an image with a version of three numbers, and of our own that is built here.
	exact    = regexp.MustCompile(`^([a-z0-9./-]+:v?\d+\.\d+\.\d+(-[a-z0-9.]+)?|perfline/shop:compose)$`)
	password = regexp.MustCompile(`(?i)passw|secret|token|api_?key|credential`)
)

// secretFree are settings whose names look like a secret's and whose values are none.
var secretFree = map[string]string{"GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION": "true"}

// The rules that every service keeps.
func TestServices(t *testing.T) {
	project := load(t)
	want := []string{"collector", "grafana", "jaeger", "loki", "prepare", "prometheus", "pyroscope", "shop", "tempo"}
	if got := project.ServiceNames(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("services %v, want %v", got, want)
	}
	for _, rule := range []struct {
		name   string
		broken func(types.ServiceConfig) error
	}{
		{"the image's version is exact", func(s types.ServiceConfig) error {
			if !exact.MatchString(s.Image) {
				return fmt.Errorf("image %q: must have a version of three numbers", s.Image)
			}
			return nil
		}},
		{"ports are open to this machine only", func(s types.ServiceConfig) error {
			for _, p := range s.Ports {
				if p.HostIP != "127.0.0.1" || p.Published != fmt.Sprint(p.Target) || p.Protocol != "tcp" {
					return fmt.Errorf("port %+v: must be the same one of 127.0.0.1", p)
				}
			}
			if s.NetworkMode == "host" {
				return fmt.Errorf("network_mode %s: opens all ports", s.NetworkMode)
			}
			return nil
		}},
		{"memory is limited, and Go knows", func(s types.ServiceConfig) error {
			if s.MemLimit <= 0 {
				return fmt.Errorf("mem_limit %d: must be set", s.MemLimit)
			}
			limit := value(s, "GOMEMLIMIT")
			if limit == "" {
				// Prometheus finds its container's out itself; Grafana is a process for each data source, which would all take it for theirs.
				if !slices.Contains([]string{"prepare", "prometheus", "grafana"}, s.Name) {
					return fmt.Errorf("GOMEMLIMIT: must be set")
				}
				return nil
			}
			var mib int64
			if _, err := fmt.Sscanf(limit, "%dMiB", &mib); err != nil {
				return fmt.Errorf("GOMEMLIMIT %s: must be in MiB: %w", limit, err)
			}
			if share := float64(mib<<20) / float64(s.MemLimit); share < 0.6 || share > 0.85 {
				return fmt.Errorf("GOMEMLIMIT %s: is %.2f of mem_limit, must be 0.6 to 0.85", limit, share)
			}
			return nil
		}},
		{"its health is checked", func(s types.ServiceConfig) error {
			if s.Name == "prepare" { // it ends
				return nil
			}
			h := s.HealthCheck
			switch {
			case h == nil || h.Disable || len(h.Test) == 0:
				return fmt.Errorf("healthcheck %+v: must have a test", h)
			case h.Test[0] != "CMD" || h.Test[1] != "/probe/busybox":
				return fmt.Errorf("healthcheck %q: must be the probe's, without a shell", h.Test)
			case h.Interval == nil || h.Timeout == nil || h.Retries == nil || h.StartPeriod == nil || h.StartInterval == nil:
				return fmt.Errorf("healthcheck %+v: must say all times", h)
			}
			for _, v := range s.Volumes {
				if v.Source == "probe" && v.Target == "/probe" && v.ReadOnly {
					return nil
				}
			}
			return fmt.Errorf("volumes %+v: lack the probe, to be read only", s.Volumes)
		}},
		{"it waits for what it needs", func(s types.ServiceConfig) error {
			for name, d := range s.DependsOn {
				want := types.ServiceConditionHealthy
				if name == "prepare" {
					want = types.ServiceConditionCompletedSuccessfully
				}
				if d.Condition != want {
					return fmt.Errorf("depends_on %s: condition %s, must be %s", name, d.Condition, want)
				}
			}
			if _, ok := s.DependsOn["prepare"]; !ok && s.Name != "prepare" {
				return fmt.Errorf("depends_on %v: lacks prepare, which makes the probe", s.DependsOn)
			}
			return nil
		}},
		{"it comes back, and leaves in time", func(s types.ServiceConfig) error {
			want := types.RestartPolicyUnlessStopped
			if s.Name == "prepare" {
				want = types.RestartPolicyNo
			} else if s.StopGracePeriod == nil {
				return fmt.Errorf("no stop_grace_period")
			}
			if s.Restart != want {
				return fmt.Errorf("restart %q: must be %q", s.Restart, want)
			}
			return nil
		}},
		{"it may do little", func(s types.ServiceConfig) error {
			switch {
			case s.Privileged:
				return fmt.Errorf("privileged")
			case !s.ReadOnly:
				return fmt.Errorf("its files can be written")
			case fmt.Sprint(s.CapDrop) != "[ALL]":
				return fmt.Errorf("cap_drop %v: must be ALL", s.CapDrop)
			case len(s.CapAdd) > 0 && s.Name != "prepare":
				return fmt.Errorf("cap_add %v", s.CapAdd)
			case fmt.Sprint(s.SecurityOpt) != "[no-new-privileges:true]":
				return fmt.Errorf("security_opt %v: must be no-new-privileges", s.SecurityOpt)
			case s.Pid != "" || s.Ipc != "" || len(s.Devices) > 0:
				return fmt.Errorf("it sees the host: pid %q, ipc %q, devices %v", s.Pid, s.Ipc, s.Devices)
			}
			return nil
		}},
		{"its log is bounded", func(s types.ServiceConfig) error {
			if s.Logging == nil || s.Logging.Options["max-size"] == "" || s.Logging.Options["max-file"] == "" {
				return fmt.Errorf("logging %+v: must have max-size and max-file", s.Logging)
			}
			return nil
		}},
		{"it has no password", func(s types.ServiceConfig) error {
			for name, value := range s.Environment {
				if value == nil {
					return fmt.Errorf("%s: has no value, and so the one of whoever starts it", name)
				}
				if password.MatchString(name) && secretFree[name] != *value {
					return fmt.Errorf("%s=%s: looks like a secret", name, *value)
				}
			}
			if text := strings.Join(append(append([]string{}, s.Command...), s.Entrypoint...), " "); password.MatchString(text) {
				return fmt.Errorf("command %s: looks like a secret", text)
			}
			return nil
		}},
		{"what it mounts is there, and stays as it is", func(s types.ServiceConfig) error {
			for _, v := range s.Volumes {
				if v.Type != types.VolumeTypeBind {
					if _, ok := project.Volumes[v.Source]; !ok {
						return fmt.Errorf("volume %q: is none of the project's", v.Source)
					}
					continue
				}
				if _, err := os.Stat(v.Source); err != nil {
					return err
				}
				if !v.ReadOnly {
					return fmt.Errorf("%s: must be mounted to be read only", v.Source)
				}
			}
			return nil
		}},
	} {
		t.Run(rule.name, func(t *testing.T) {
			for name, s := range project.Services {
				if err := rule.broken(s); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// Grafana has no user, so no well-known password opens it.
func TestGrafanaHasNoUsers(t *testing.T) {
	grafana := load(t).Services["grafana"]
	for name, want := range map[string]string{
		"GF_AUTH_ANONYMOUS_ENABLED":                  "true",
		"GF_AUTH_BASIC_ENABLED":                      "false",
		"GF_AUTH_DISABLE_LOGIN_FORM":                 "true",
		"GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION": "true",
		"GF_SERVER_ENFORCE_DOMAIN":                   "true",
	} {
		if got := value(grafana, name); got != want {
			t.Errorf("%s is %q, want %s", name, got, want)
		}
	}
	if role := value(grafana, "GF_AUTH_ANONYMOUS_ORG_ROLE"); role != "Viewer" && role != "Editor" {
		t.Errorf("the anonymous role is %q, must be Viewer or Editor", role)
	}
}

// README.md says what the limits of memory add up to.
func TestMemoryIsTold(t *testing.T) {
	var sum types.UnitBytes
	for _, s := range load(t).Services {
		sum += s.MemLimit
	}
	readme, err := os.ReadFile(filepath.Join(root, "deploy", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("limits add up to %.1f GiB", float64(sum)/(1<<30)); !strings.Contains(string(readme), want) {
		t.Errorf("deploy/README.md does not say that its %s", want)
	}
}

// Grafana fetches nothing when it starts, and has the data sources that are provisioned.
func TestGrafanaPlugins(t *testing.T) {
	grafana := load(t).Services["grafana"]
	if got := value(grafana, "GF_PLUGINS_PREINSTALL_DISABLED"); got != "true" {
		t.Errorf("GF_PLUGINS_PREINSTALL_DISABLED is %q, want true", got)
	}
	disabled := strings.Split(value(grafana, "GF_PLUGINS_DISABLE_PLUGINS"), ",")
	for uid, s := range sources(t) {
		if slices.Contains(disabled, s.Type) {
			t.Errorf("data source %q needs the plugin %s, which is disabled", uid, s.Type)
		}
	}
}

// Every file of deploy/ is mounted, or built with, or README.md tells what it is for.
func TestEveryFileIsUsed(t *testing.T) {
	used := map[string]bool{}
	for _, s := range load(t).Services {
		if s.Build != nil {
			used[filepath.Join(s.Build.Context, s.Build.Dockerfile)] = true
		}
		for _, v := range s.Volumes {
			used[v.Source] = true
		}
	}
	deploy, err := filepath.Abs(filepath.Join(root, "deploy"))
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(deploy, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	used[filepath.Join(deploy, "README.md")] = true
	files := 0
	err = filepath.WalkDir(deploy, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case used[path] && d.IsDir():
			return filepath.SkipDir
		case !d.IsDir() && !used[path] && !strings.Contains(string(readme), "`"+d.Name()+"`"):
			t.Errorf("nothing uses %s", path)
		case !d.IsDir():
			files++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 5 {
		t.Errorf("%d files in deploy/: where are they?", files)
	}
}

// No file has a password.
func TestFilesHaveNoSecrets(t *testing.T) {
	literal := regexp.MustCompile(`(?i)(passw\w*|secret\w*|token|api_?key|credentials?)["']?\s*[:=]\s*["']?[^\s"'$]`)
	err := filepath.WalkDir(filepath.Join(root, "deploy"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, found := range literal.FindAll(data, -1) {
			t.Errorf("%s has %q", path, found)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
