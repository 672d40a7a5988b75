package remote_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/perfline/perfline/internal/permission"
	"github.com/perfline/perfline/internal/profiles"
	"github.com/perfline/perfline/internal/remote"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
)

// Allowed reports what may be started without starting it.
func TestAllowed_JSP24(t *testing.T) {
	for _, c := range []struct {
		name, setting string
		policy        profiling.Policy
		own, outside  string // in the error; "" for none
	}{
		{"nobody said anything", "", profiling.Policy{}, "", "set Policy.Remote, or PERFLINE_PROFILING=remote"},
		{"the application allows it", "", profiling.Policy{Remote: true}, "", ""},
		{"who runs it allows it", " Remote ", profiling.Policy{}, "", ""},
		{"who runs it forbids it", "off", profiling.Policy{Remote: true}, "PERFLINE_PROFILING is off", "PERFLINE_PROFILING is off"},
		{"a setting that does not exist", "of", profiling.Policy{Remote: true}, `PERFLINE_PROFILING "of": must be off or remote`, "it counts as off"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("PERFLINE_PROFILING", c.setting)
			for who, got := range map[string]struct {
				err  error
				want string
			}{"own code": {permission.Check(), c.own}, "somebody outside": {remote.Policy(c.policy).Check(), c.outside}} {
				if (got.err == nil) != (got.want == "") {
					t.Errorf("%s: got %v, want %q", who, got.err, got.want)
				}
				if got.err != nil && (!errors.Is(got.err, profiling.ErrNotAllowed) || !strings.Contains(got.err.Error(), got.want)) {
					t.Errorf("%s: got %v, want ErrNotAllowed with %q", who, got.err, got.want)
				}
			}
		})
	}
}

// A policy shows the functions of its modules only.
func TestPolicyShows(t *testing.T) {
	const own, std, dep = "github.com/perfline/perfline/internal/remote_test.TestPolicyShows", "net/http.(*conn).serve", "go.opentelemetry.io/otel/attribute.F[net/http.Header]"
	for _, c := range []struct {
		name    string
		modules []string
		want    string // of the three
	}{
		{"the main module and the standard library by default", nil, "yes yes no"},
		{"the main module", []string{profiling.ModuleMain}, "yes no no"},
		{"a dependency", []string{profiling.ModuleStandard, "go.opentelemetry.io/otel"}, "no yes yes"},
		{"any", []string{profiling.ModuleAny}, "yes yes yes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, function := range []string{own, std, dep} {
				answer := "no"
				if (remote.Policy{Modules: c.modules}).Shows(function) {
					answer = "yes"
				}
				got = append(got, answer)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("shows %q, want %s", got, c.want)
			}
		})
	}
}

// A trace says which modules its policy shows.
func TestTraceHasModules(t *testing.T) {
	for _, c := range []struct {
		policy profiling.Policy
		want   []string
	}{
		{profiling.Policy{Remote: true}, []string{profiling.ModuleMain, profiling.ModuleStandard}},
		{profiling.Policy{Remote: true, Modules: []string{profiling.ModuleAny}}, nil},
	} {
		p, err := c.policy.Start(t.Context(), profiling.Options{})
		if err != nil {
			t.Fatal(err)
		}
		tr, err := p.Stop()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(tr.Modules, c.want) {
			t.Errorf("with %+v the trace has functions of %q, want %q", c.policy, tr.Modules, c.want)
		}
	}
}

// A policy takes the frames of other modules out of a trace.
func TestPolicyShown(t *testing.T) {
	b := profile.NewBuilder(nil)
	b.Add([]*profile.Call{{Name: "go.opentelemetry.io/otel.F"}, {Name: "main.main"}}, profile.Sample{ContextID: profile.None})
	b.Add([]*profile.Call{{Name: "go.opentelemetry.io/otel.G"}}, profile.Sample{ContextID: profile.None})
	whole := b.Trace(nil)
	for _, c := range []struct {
		modules []string
		want    string
	}{
		{nil, "main.main, "},
		{[]string{profiling.ModuleAny}, "go.opentelemetry.io/otel.F main.main, go.opentelemetry.io/otel.G"},
		{[]string{"go.opentelemetry.io/otel"}, "go.opentelemetry.io/otel.F, go.opentelemetry.io/otel.G"},
	} {
		shown := remote.Policy{Modules: c.modules}.Shown(whole)
		var stacks []string
		for _, s := range shown.Samples {
			var names []string
			for call := range shown.Calls(s) {
				names = append(names, call.Name)
			}
			stacks = append(stacks, strings.Join(names, " "))
		}
		if got := strings.Join(stacks, ", "); got != c.want {
			t.Errorf("with modules %q the stacks are %q, want %q", c.modules, got, c.want)
		}
		if all := slices.Contains(c.modules, profiling.ModuleAny); (profiles.HiddenNote(shown) == "") != all {
			t.Errorf("with modules %q the trace has the note %q", c.modules, profiles.HiddenNote(shown))
		}
	}
}
