package backend

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

// BuildShop builds the shop of the examples into dir and returns its program. In difference to go
// build, go run links a program once, and keeps it in the build cache. The program has no paths of
// this machine: recordings and pictures show its stacks.
func BuildShop(ctx context.Context, dir string) (string, error) {
	examples, err := repository("examples")
	if err != nil {
		return "", err
	}
	shop := filepath.Join(dir, "shop")
	build := exec.CommandContext(ctx, "go", "run", "-trimpath", "-exec", "cp", "./shop", shop)
	build.Dir = examples
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the shop: %w\n%s", err, out)
	}
	return shop, nil
}
