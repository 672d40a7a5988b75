package backend

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

// BuildShop builds the shop of the examples into dir and returns its program.
func BuildShop(ctx context.Context, dir string) (string, error) {
	examples, err := repository("examples")
	if err != nil {
		return "", err
	}
	shop := filepath.Join(dir, "shop")
	build := exec.CommandContext(ctx, "go", "build", "-ldflags=-w", "-o", shop, "./shop") // as go run does, which is for less to link
	build.Dir = examples
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the shop: %w\n%s", err, out)
	}
	return shop, nil
}
