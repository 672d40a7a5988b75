package npm_test

import (
	"os/exec"
	"testing"

	"github.com/perfline/perfline/integration/npm"
)

// The scripts of the live page have no error of types, no finding of ESLint, and do what their
// tests say. Each subtest is a script of package.json: npm run types, say, is the same.
func TestPageScripts(t *testing.T) {
	modules, err := npm.Install(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{"types", "lint", "unit"} {
		t.Run(script, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "npm", "run", "--silent", script)
			cmd.Dir = modules + "/.."
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("npm run %s: %v\n%s", script, err, out)
			}
		})
	}
}
