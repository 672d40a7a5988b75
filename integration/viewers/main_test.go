package viewers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/perfline/perfline/integration/chromium"
	"github.com/perfline/perfline/integration/npm"
)

// patience is how long a program may take. Only a hang takes so long.
const patience = 10 * time.Minute

var (
	modules string                          // the folder with the viewers
	browser func() (context.Context, error) // its first call starts one
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var err error
	if modules, err = npm.Install(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	stop := func() {}
	defer func() { stop() }()
	browser = sync.OnceValues(func() (tab context.Context, err error) {
		tab, end, err := chromium.Start(context.Background(),
			// Speedscope draws with WebGL, which takes a software renderer where there is no screen.
			chromedp.Flag("use-angle", "swiftshader"), chromedp.Flag("enable-unsafe-swiftshader", true),
		)
		if err == nil {
			stop = end
		}
		return tab, err
	})
	return m.Run()
}

// output is what a program prints; what it prints as errors is in the error.
func output(cmd *exec.Cmd) ([]byte, error) {
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("%s: %w\n%s%s", filepath.Base(cmd.Args[0]), err, out, exit.Stderr)
	}
	return out, err
}

// golden returns a file of the tests of package internal/viewers.
func golden(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "internal", "viewers", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// save is the name of a file with that text.
func save(t *testing.T, name string, data []byte) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
