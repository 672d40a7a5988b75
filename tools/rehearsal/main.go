// Command rehearsal releases the modules of the last commit to a proxy in a temporary
// folder, and uses them from there as users will:
//
//   - a library with old dependencies and an old Go release adds marks. Three lines are added
//     to its go.mod, and no version moves;
//   - a service adds everything, and all packages of the five modules build there;
//   - a program implements each public interface, and perfline calls each implementation.
//
// The modules are released one after the other. The command fails when a go.mod requires
// a version that is not released before it. Nothing outside of the temporary folder
// changes.
//
//	go run -C tools ./rehearsal
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "rehearsal:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("rehearsal", flag.ContinueOnError)
	repository := f.String("repository", "..", "`folder` of the repository")
	library := f.String("library", "go1.24.11", "Go `release` of the library that adds marks")
	if err := f.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "rehearsal")
	if err != nil {
		return err
	}
	defer removeAll(dir)
	from, err := filepath.Abs(*repository)
	if err != nil {
		return err
	}
	p, err := newProxy(ctx, from, dir)
	if err != nil {
		return err
	}
	for _, folder := range releaseOrder {
		tag, err := p.release(ctx, folder, version)
		if err != nil {
			return err
		}
		fmt.Println("released", tag)
	}
	if err := addToLibrary(ctx, p, *library); err != nil {
		return fmt.Errorf("a library with %s: %w", *library, err)
	}
	if err := addToService(ctx, p); err != nil {
		return fmt.Errorf("a service: %w", err)
	}
	return nil
}

// addToLibrary adds marks to a program with an old Go release and old dependencies.
func addToLibrary(ctx context.Context, p *proxy, release string) error {
	lib, err := newProgram(ctx, p, "library", release)
	if err != nil {
		return err
	}
	if err := lib.write(libraryBefore); err != nil {
		return err
	}
	if err := lib.run(ctx, "get", "go.opentelemetry.io/otel@v1.36.0",
		"google.golang.org/grpc@v1.72.0"); err != nil {
		return err
	}
	if err := lib.run(ctx, "mod", "tidy"); err != nil {
		return err
	}
	before, err := lib.requirements()
	if err != nil {
		return err
	}
	if err := lib.write(libraryAfter); err != nil {
		return err
	}
	if err := lib.run(ctx, "get", modulePath+"/marks"); err != nil {
		return err
	}
	if err := lib.run(ctx, "mod", "tidy"); err != nil {
		return err
	}
	after, err := lib.requirements()
	if err != nil {
		return err
	}
	added, removed := difference(before, after), difference(after, before)
	if len(removed) > 0 || len(added) != 3 || added[0].path != modulePath+"/internal/record" ||
		added[1].path != modulePath+"/marks" ||
		added[2].path != modulePath+"/observer" {
		return fmt.Errorf("marks adds the requirements %v and removes %v: must add marks, observer and internal/record only", added, removed)
	}
	// without the go line
	fmt.Printf("a library with %s and %d requirements adds marks:\n", release, len(before)-1)
	for _, r := range added {
		fmt.Println("\t+", r)
	}
	if err := lib.runs(ctx, "marked"); err != nil {
		return err
	}
	return updateEngine(ctx, p, lib)
}

// updateEngine gives a program a newer engine than the one that its marks and observer were
// released with.
func updateEngine(ctx context.Context, p *proxy, in *program) error {
	tag, err := p.release(ctx, engine, newer)
	if err != nil {
		return err
	}
	if err := in.run(ctx, "get", modulePath+"/"+engine+"@"+newer); err != nil {
		return err
	}
	fmt.Println("released", tag, "alone: marks", version, "works with it")
	return in.runs(ctx, "marked")
}

// addToService adds everything to an empty program, and builds all packages there.
func addToService(ctx context.Context, p *proxy) error {
	s, err := newProgram(ctx, p, "service", "")
	if err != nil {
		return err
	}
	if err := s.write(service); err != nil {
		return err
	}
	if err := s.run(ctx, "get", modulePath); err != nil {
		return err
	}
	if err := s.run(ctx, "mod", "tidy"); err != nil {
		return err
	}
	after, err := s.requirements()
	if err != nil {
		return err
	}
	fmt.Printf("a service adds %s: %d requirements in all\n", modulePath, len(after))
	if err := s.runs(ctx, "200 OK"); err != nil {
		return err
	}
	for _, folder := range releaseOrder {
		all := strings.TrimSuffix(modulePath+"/"+folder, "/") + "/..."
		// for what only other packages of the module need
		if err := s.run(ctx, "get", all); err != nil {
			return err
		}
		if err := s.run(ctx, "build", all); err != nil {
			return err
		}
		fmt.Println("built", all)
	}
	if err := s.write(outside); err != nil {
		return err
	}
	if err := s.runs(ctx, "all called"); err != nil {
		return fmt.Errorf("a program with implementations of the public interfaces: %w", err)
	}
	fmt.Println("a program implements each public interface, and perfline calls each implementation")
	return nil
}
