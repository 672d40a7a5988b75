package exporter

import (
	"bytes"
	"testing"
)

func TestFirefox(t *testing.T) {
	var b bytes.Buffer
	if err := writeFirefox(&b, aSession()); err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "session.firefox.json", b.Bytes())
}

func TestSpeedscope(t *testing.T) {
	var b bytes.Buffer
	if err := writeSpeedscope(&b, aSession()); err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "session.speedscope.json", b.Bytes())
}
