package viewers_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/perfline/perfline/internal/viewers"
)

var update = flag.Bool("update", false, "rewrite golden files")

// compareGolden compares with a file of testdata.
func compareGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	golden := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestFirefox(t *testing.T) {
	var b bytes.Buffer
	if err := viewers.WriteRecordedFirefox(&b, aSession()); err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "session.firefox.json", b.Bytes())
}

func TestSpeedscope(t *testing.T) {
	var b bytes.Buffer
	if err := viewers.WriteRecordedSpeedscope(&b, aSession()); err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "session.speedscope.json", b.Bytes())
}
