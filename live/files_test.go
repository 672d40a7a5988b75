package live_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	pprofpb "github.com/google/pprof/profile"

	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/marks"
)

// requestFiles gets each file that a request is listed to have, and returns their formats. Each must have the span.
func (p *program) requestFiles(d detail, span string) (listed []string) {
	p.t.Helper()
	for _, f := range d.Files {
		listed = append(listed, f.Format)
		path := "data/v1/requests/" + d.Trace + "/" + d.Span + "/" + f.Format
		rec := p.do(ask(http.MethodGet, path, ""))
		var err error
		switch f.Format {
		case "svg":
			if !bytes.HasPrefix(rec.Body.Bytes(), []byte("<svg")) {
				p.t.Errorf("svg: the file begins %.40q", rec.Body)
			}
		case "pprof":
			_, err = pprofpb.ParseData(rec.Body.Bytes())
		default:
			err = json.Unmarshal(rec.Body.Bytes(), new(map[string]any))
			if !strings.Contains(rec.Body.String(), `"`+span+`"`) {
				p.t.Errorf("%s: the file has no span %s: %s", f.Format, span, rec.Body)
			}
		}
		head := rec.Header()
		if err != nil || rec.Code != http.StatusOK || !strings.HasPrefix(head.Get("Content-Disposition"), `attachment; filename="request-`+d.Trace+".") {
			p.t.Errorf("%s: %v, status %d, %v", f.Format, err, rec.Code, head)
		}
		if f.Name == "" || f.Use == "" {
			p.t.Errorf("%s: has no name or no use: %+v", f.Format, f)
		}
		if rec := p.do(ask(http.MethodHead, path, "")); rec.Code != http.StatusOK || rec.Body.Len() > 0 || rec.Header().Get("Content-Type") != head.Get("Content-Type") {
			p.t.Errorf("%s: HEAD: status %d, %d bytes, %v", f.Format, rec.Code, rec.Body.Len(), rec.Header())
		}
	}
	return listed
}

func TestRequestFiles(t *testing.T) {
	p := start(t, allowed, live.Config{})
	p.serve("GET /cart", "/cart", func(_ http.ResponseWriter, r *http.Request) {
		defer marks.Time(r.Context(), "checkout", slog.Int("items", 3)).End()
	})
	d := p.detail()
	if got, want := p.requestFiles(d, "checkout"), []string{"svg", "firefox", "perfetto", "speedscope", "otlp"}; !slices.Equal(got, want) {
		t.Errorf("the request has the files %q, want %q", got, want)
	}
	for format, want := range map[string]string{"pprof": "no session has samples of this request", "nothing\u202e": `cannot be had as nothing\\u202e`} {
		rec := p.do(ask(http.MethodGet, "data/v1/requests/"+d.Trace+"/"+d.Span+"/"+format, ""))
		if rec.Code != http.StatusNotFound || !strings.Contains(rec.Body.String(), want) || rec.Header().Get("Content-Disposition") != "" {
			t.Errorf("%q: status %d, %v, %s", format, rec.Code, rec.Header(), rec.Body)
		}
	}
}
