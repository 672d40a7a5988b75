package pyroscope

import (
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/grafana/pyroscope-go/upstream"
	"github.com/grafana/pyroscope-go/upstream/remote"
)

// A sent request is what does not depend on chance of it.
type sentRequest struct {
	method, url string
	header      http.Header
	parts       []sentPart
}

type sentPart struct {
	header map[string][]string
	data   string
}

// A recorder is a server that remembers the last request.
type recorder struct {
	t    *testing.T
	last sentRequest
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	form, err := req.MultipartReader()
	if err != nil {
		r.t.Errorf("not a form: %v", err)
		return nil, err
	}
	r.last = sentRequest{method: req.Method, url: req.URL.String(), header: maps.Clone(req.Header)}
	r.last.header.Del("Content-Type") // has the boundary
	for part, err := form.NextPart(); err == nil; part, err = form.NextPart() {
		r.last.parts = append(r.last.parts, r.part(part))
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: req}, nil
}

func (r *recorder) part(p *multipart.Part) sentPart {
	data, err := io.ReadAll(p)
	if err != nil {
		r.t.Error(err)
	}
	return sentPart{p.Header, string(data)}
}

// The requests are those of pyroscope-go's own client.
func TestRequestsAreThoseOfRemote(t *testing.T) {
	jobs := []*upstream.UploadJob{{}, {
		Name: `app{zone=a b&c}`, StartTime: time.Unix(1, 2), EndTime: time.Unix(3, 4), SpyName: spyName, SampleRate: 100,
		Units: "samples", AggregationType: "sum", Format: upstream.FormatPprof, Profile: []byte("profile\x00\xff"),
		SampleTypeConfig: map[string]*upstream.SampleType{"delay": {DisplayName: "d", Units: "u", Aggregation: "average"}},
	}}
	for _, c := range []Config{
		{ServerAddress: "http://server"},
		{ServerAddress: "https://user:pass@server:4040/base/?a=b"},
		{ServerAddress: "http://server/", BasicAuthUser: "u", BasicAuthPassword: "p", TenantID: "t", Headers: map[string]string{"X-A": "b", "x-scope-orgid": "over"}},
	} {
		theirs, ours := &recorder{t: t}, &recorder{t: t}
		r, err := remote.NewRemote(remote.Config{
			Address: c.ServerAddress, BasicAuthUser: c.BasicAuthUser, BasicAuthPassword: c.BasicAuthPassword, TenantID: c.TenantID,
			HTTPHeaders: c.Headers, Threads: 1, Logger: silent{}, HTTPClient: &http.Client{Transport: theirs},
		})
		if err != nil {
			t.Fatal(err)
		}
		r.Start()
		c.HTTPClient = &http.Client{Transport: ours}
		cl := newClient(c, time.Now)
		for _, job := range jobs {
			r.Upload(job)
			r.Flush()
			if a := cl.send(t.Context(), []*upload{{job: *job}}); a.Err != nil {
				t.Error(a.Err)
			}
			if !reflect.DeepEqual(ours.last, theirs.last) {
				t.Errorf("%s: sent\n%+v, pyroscope-go sends\n%+v", c.ServerAddress, ours.last, theirs.last)
			}
		}
		r.Stop()
		cl.close()
	}
}

// silent is the Remote's logger.
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Debugf(string, ...any) {}
func (silent) Errorf(string, ...any) {}
