package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A program is a small service with some telemetry.
type program struct {
	folder, what string
	peers        bool
}

// hello has no telemetry. The others are compared with it.
var hello = program{"hello", none, true}

var programs = []program{
	{"sdk", "SDK + otlptracegrpc", true},
	{"otelhttp", reference, true},
	{"exporter", "SDK + our exporter", false},
	{"start", "perfline.Start", false},
	{"middleware", pipelined, false},
	{"page", complete, false},
}

// A size is what a program links.
type size struct {
	what    string
	added   float64 // megabytes more than hello, rounded up to a tenth
	modules int     // beside the standard library and the program's own
	peers   bool
}

// sizes builds the programs for one system, on all systems the same.
func sizes(ctx context.Context, programs []program) ([]size, error) {
	dir, err := os.MkdirTemp("", "size")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	least, err := built(ctx, dir, hello.folder)
	if err != nil {
		return nil, err
	}
	var all []size
	for _, p := range programs {
		bytes, err := built(ctx, dir, p.folder)
		if err != nil {
			return nil, err
		}
		modules, err := linked(ctx, p.folder)
		if err != nil {
			return nil, err
		}
		all = append(all, size{p.what, math.Ceil(float64(bytes-least)/1e5) / 10, modules, p.peers})
	}
	return all, nil
}

func runSizes(ctx context.Context, o options) error {
	all, err := sizes(ctx, programs)
	if err != nil {
		return err
	}
	fmt.Fprint(o.out, "| program | MB added | modules |\n|---|---:|---:|\n")
	for _, s := range all {
		fmt.Fprintf(o.out, "| %s | %.1f | %d |\n", s.what, s.added, s.modules)
	}
	return addFigures(o, sizeBudgets(all))
}

func sizeBudgets(sizes []size) (all []budget) {
	for _, s := range sizes {
		all = append(all, budget{s.what + megabytesAdded, s.added, ""},
			budget{s.what + modulesLinked, float64(s.modules), ""})
	}
	return all
}

func built(ctx context.Context, dir, folder string) (bytes int64, err error) {
	file := filepath.Join(dir, folder)
	if _, err := goCommand(ctx, "build", "-trimpath", "-buildvcs=false", "-o", file,
		"./request/size/"+folder); err != nil {
		return 0, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// linked counts the modules of a program's packages.
func linked(ctx context.Context, folder string) (int, error) {
	out, err := goCommand(ctx, "list", "-deps", "-f",
		"{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", "./request/size/"+folder)
	if err != nil {
		return 0, err
	}
	modules := map[string]bool{}
	for _, m := range strings.Fields(out) {
		modules[m] = true
	}
	return len(modules), nil
}

func goCommand(ctx context.Context, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "go", args...)
	c.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=")
	var problems strings.Builder
	c.Stderr = &problems
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", c, err, problems.String())
	}
	return string(out), nil
}
