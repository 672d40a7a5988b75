package backend

import (
	"context"
	"fmt"
	"os/exec"
)

// Validate runs the validation of collector or jaeger on files of deploy/. Later files
// are merged over the first. The environment is empty, so the defaults are validated,
// too. It finds unknown settings and contradictions, but no wrong addresses.
func Validate(ctx context.Context, program string, files ...string) error {
	if program != "collector" && program != "jaeger" {
		return fmt.Errorf("validating a configuration of %q: want collector or jaeger", program)
	}
	bin, err := build(ctx, program)
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
