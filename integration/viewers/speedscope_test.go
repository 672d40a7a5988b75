package viewers

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// checkSchema compares a file with the schema that speedscope publishes.
func checkSchema(ctx context.Context, t *testing.T, file []byte) error {
	t.Helper()
	_, err := output(exec.CommandContext(ctx, "node", "schema.mjs", filepath.Join(modules, "ajv"),
		filepath.Join(modules, "speedscope", "dist", "release", "file-format-schema.json"), save(t, "profile.json", file)))
	return err
}

func TestSpeedscopeSchema(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	good := golden(t, "session.speedscope.json")
	if err := checkSchema(ctx, t, good); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ old, changed string }{
		"another unit":         {`"unit":"nanoseconds"`, `"unit":"ns"`},
		"another type":         {`{"type":"O"`, `{"type":"B"`},
		"no end":               {`"endValue":`, `"end":`},
		"a frame without name": {`{"name":"cgo"}`, `{}`},
		"a text as weight":     {`"weights":[10000000`, `"weights":["10000000"`},
	} {
		bad := bytes.Replace(good, []byte(c.old), []byte(c.changed), 1)
		if bytes.Equal(good, bad) {
			t.Fatalf("%s: %s is not in the file", name, c.old)
		}
		if err := checkSchema(ctx, t, bad); err == nil {
			t.Errorf("%s: the schema finds nothing wrong", name)
		}
	}
}

// speedscope opens a file in a browser, as speedscope's own command line does, and says
// what the page does then.
func speedscope(ctx context.Context, t *testing.T, file []byte) (string, error) {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, // containers and CI run as root
		chromedp.Flag("disable-component-update", true),
		// It draws with WebGL, which takes a software renderer where there is no screen.
		chromedp.Flag("use-angle", "swiftshader"), chromedp.Flag("enable-unsafe-swiftshader", true),
	)
	ctx, cancel := chromedp.NewExecAllocator(ctx, options...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	script := fmt.Sprintf("speedscope.loadFileFromBase64(%q, %q)", "session.json", base64.StdEncoding.EncodeToString(file))
	page := "file://" + filepath.Join(modules, "speedscope", "dist", "release", "index.html") +
		"#localProfilePath=" + save(t, "profile.js", []byte(script))
	if err := chromedp.Do(ctx, chromedp.Navigate(page)); err != nil {
		return "", fmt.Errorf("Chromium (Debian's package chromium): %w", err)
	}
	return chromedp.Run(ctx, chromedp.Poll[string](`(text => /Left Heavy|went wrong/.test(text) && text)(document.body.innerText)`,
		chromedp.WithPollingInterval(50*time.Millisecond)))
}

// Speedscope shows the first of a session's profiles, and refuses events that are not nested.
func TestSpeedscope(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	good := golden(t, "session.speedscope.json")
	bad := bytes.Replace(good, []byte(`{"type":"C","at":10000000,"frame":6}`), []byte(`{"type":"C","at":10000000,"frame":5}`), 1)
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"a session":                   {good, "samples of CPU time (1/5)"},
		"an event closed for another": {bad, "Something went wrong"},
	} {
		text, err := speedscope(ctx, t, c.file)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !strings.Contains(text, c.want) {
			t.Errorf("%s: speedscope shows\n%s\nwant %q", name, text, c.want)
		}
	}
}
