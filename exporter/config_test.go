package exporter_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/perfline/perfline/exporter"
)

func TestConfigHidesSecrets(t *testing.T) {
	c := exporter.Config{Endpoint: "https://secret:secret@h?secret", Headers: map[string]string{"authorization": "secret"}}
	asJSON, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"%v", "%+v", "%s", "%#v", "%d", string(asJSON) + "%.0s"} {
		if s := fmt.Sprintf(format, c); strings.Contains(s, "secret") || !strings.Contains(s, "authorization") {
			t.Errorf("%s prints %s", format, s)
		}
	}
}
