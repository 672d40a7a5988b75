package integration

import (
	"strings"
	"testing"

	"github.com/perfline/perfline/integration/backend"
)

// TestConfigurations has the programs look at their files as docker-compose.yml runs
// them, with the defaults of all that the other tests set.
func TestConfigurations(t *testing.T) {
	for _, c := range []struct {
		program string
		files   []string
	}{
		{"collector", []string{"collector.yaml"}},
		{"collector", []string{"collector.yaml", "collector-tail.yaml"}},
		{"jaeger", []string{"jaeger.yaml"}},
	} {
		t.Run(strings.Join(c.files, "+"), func(t *testing.T) {
			if err := backend.Validate(t.Context(), c.program, c.files...); err != nil {
				t.Error(err)
			}
		})
	}
}
