package viewers

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// schemaErrors compares files with the schema that speedscope publishes. It returns what is wrong with each, and
// "null" for one that is right.
func schemaErrors(ctx context.Context, t *testing.T, files ...[]byte) []json.RawMessage {
	t.Helper()
	args := []string{
		"schema.mjs", filepath.Join(modules, "ajv"),
		filepath.Join(modules, "speedscope", "dist", "release", "file-format-schema.json"),
	}
	for _, file := range files {
		args = append(args, save(t, "profile.json", file))
	}
	out, err := output(exec.CommandContext(ctx, "node", args...))
	if err != nil {
		t.Fatal(err)
	}
	var found []json.RawMessage
	if err := json.Unmarshal(out, &found); err != nil || len(found) != len(files) {
		t.Fatalf("the schema's answer to %d files is %s (%v)", len(files), out, err)
	}
	return found
}

// checkSchema checks that a file is what the schema says.
func checkSchema(ctx context.Context, t *testing.T, file []byte) {
	t.Helper()
	if wrong := schemaErrors(ctx, t, file)[0]; string(wrong) != "null" {
		t.Errorf("the schema finds %s", wrong)
	}
}

func TestSpeedscopeSchema(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	good := golden(t, "session.speedscope.json")
	cases := []struct{ name, old, changed string }{
		{"another unit", `"unit":"nanoseconds"`, `"unit":"ns"`},
		{"another type", `{"type":"O"`, `{"type":"B"`},
		{"no end", `"endValue":`, `"end":`},
		{"a frame without name", `{"name":"cgo"}`, `{}`},
		{"a text as weight", `"weights":[10000000`, `"weights":["10000000"`},
	}
	files := [][]byte{good}
	for _, c := range cases {
		bad := bytes.Replace(good, []byte(c.old), []byte(c.changed), 1)
		if bytes.Equal(good, bad) {
			t.Fatalf("%s: %s is not in the file", c.name, c.old)
		}
		files = append(files, bad)
	}
	found := schemaErrors(ctx, t, files...)
	if string(found[0]) != "null" {
		t.Errorf("the schema finds %s in the golden file", found[0])
	}
	for i, c := range cases {
		if string(found[1+i]) == "null" {
			t.Errorf("%s: the schema finds nothing wrong", c.name)
		}
	}
}

// speedscope opens a file in a browser, as speedscope's own command line does, and says
// what the page does then.
func speedscope(ctx context.Context, t *testing.T, file []byte) (string, error) {
	t.Helper()
	first, err := browser()
	if err != nil {
		return "", err
	}
	tab, cancel := chromedp.NewContext(first)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	script := fmt.Sprintf("speedscope.loadFileFromBase64(%q, %q)", "session.json", base64.StdEncoding.EncodeToString(file))
	page := "file://" + filepath.Join(modules, "speedscope", "dist", "release", "index.html") +
		"#localProfilePath=" + save(t, "profile.js", []byte(script))
	if err := chromedp.Do(tab, chromedp.EmulateViewport(600, 400), chromedp.Navigate(page)); err != nil {
		return "", err
	}
	return chromedp.Run(tab, chromedp.Poll[string](`(text => /Left Heavy|went wrong/.test(text) && text)(document.body.innerText)`,
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
