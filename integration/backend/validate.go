package backend

import (
	"context"
	"fmt"
	"os/exec"
)

// Where the programs are that know a command to validate their configuration.
const (
	collectorPkg = "github.com/perfline/perfline/integration/collector"
	jaegerPkg    = "github.com/jaegertracing/jaeger/cmd/jaeger"
)

// Validate runs the validation of collector or jaeger on files of deploy/. Later files
// are merged over the first. The environment is empty, so the defaults are validated,
// too. It finds unknown settings and contradictions, but no wrong addresses.
func Validate(ctx context.Context, program string, files ...string) error {
	pkg, ok := map[string]string{"collector": collectorPkg, "jaeger": jaegerPkg}[program]
	if !ok {
		return fmt.Errorf("validating a configuration of %q: want collector or jaeger", program)
	}
	bin, err := build(ctx, program, pkg)
	if err != nil {
		return err
	}
	args := []string{"validate"}
	for _, name := range files {
		path, err := repository("deploy", name)
		if err != nil {
			return err
		}
		args = append(args, "--config", path)
	}
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Env = []string{} // not nil, which would be this process's
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s of %v: %w\n%s", program, files, err, out)
	}
	return nil
}
