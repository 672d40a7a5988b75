package modules

import (
	"runtime/debug"
	"testing"
)

const perfline = "github.com/perfline/perfline"

// The version is that of the module, wherever the program has it from.
func TestVersionIn(t *testing.T) {
	other := debug.Module{Path: "example.com/shop", Version: "v3.0.0"}
	ours := debug.Module{Path: perfline, Version: "v1.2.3"}
	for _, c := range []struct {
		name string
		main debug.Module
		deps []*debug.Module
		want string
	}{
		{"a program that needs it", other, []*debug.Module{{Path: perfline + "/observer", Version: "v1.9.0"}, &ours}, "v1.2.3"},
		{"a program of the module", ours, []*debug.Module{&other}, "v1.2.3"},
		{"built in the module's folder", debug.Module{Path: perfline, Version: "(devel)"}, nil, ""},
		{"replaced by a folder", other, []*debug.Module{{Path: perfline, Version: "v0.0.0", Replace: &debug.Module{Path: "../perfline"}}}, ""},
		{"a program without it", other, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := versionIn(&debug.BuildInfo{Main: c.main, Deps: c.deps}, perfline); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
