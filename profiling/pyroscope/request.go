package pyroscope

import (
	"bytes"
	"context"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"strconv"

	"github.com/grafana/pyroscope-go/upstream"
)

// request returns the request by which pyroscope-go's Remote would upload a profile.
func (c *client) request(ctx context.Context, job *upstream.UploadJob) (*http.Request, error) {
	u, err := url.Parse(c.config.ServerAddress)
	if err != nil {
		return nil, err
	}
	u.Path = path.Join(u.Path, "ingest")
	q := u.Query()
	q.Set("name", job.Name)
	q.Set("from", strconv.FormatInt(job.StartTime.UnixNano(), 10))
	q.Set("until", strconv.FormatInt(job.EndTime.UnixNano(), 10))
	q.Set("spyName", job.SpyName)
	q.Set("sampleRate", strconv.FormatUint(uint64(job.SampleRate), 10))
	q.Set("units", job.Units)
	q.Set("aggregationType", job.AggregationType)
	u.RawQuery = q.Encode()

	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	if err := addFile(form, "profile", "profile.pprof", job.Profile); err != nil {
		return nil, err
	}
	if job.SampleTypeConfig != nil {
		types, err := json.Marshal(job.SampleTypeConfig)
		if err != nil {
			return nil, err
		}
		if err := addFile(form, "sample_type_config", "sample_type_config.json", types); err != nil {
			return nil, err
		}
	}
	if err := form.Close(); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), &body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	if c.config.BasicAuthUser != "" && c.config.BasicAuthPassword != "" {
		req.SetBasicAuth(c.config.BasicAuthUser, c.config.BasicAuthPassword)
	}
	if c.config.TenantID != "" {
		req.Header.Set("X-Scope-OrgID", c.config.TenantID)
	}
	for name, value := range c.config.Headers {
		req.Header.Set(name, value)
	}
	return req, nil
}

// addFile adds a file to a form.
func addFile(form *multipart.Writer, field, name string, data []byte) error {
	w, err := form.CreateFormFile(field, name)
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}
