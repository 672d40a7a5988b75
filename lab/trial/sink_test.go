package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
)

// The sink counts each log record and each profile once, and reports a request that is not OTLP.
func TestSink(t *testing.T) {
	s, err := newSink(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	}()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	send := func(path, encoding string, body []byte) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Encoding", encoding)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	logs := plog.NewLogs()
	records := logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for _, trace := range []byte{1, 2} {
		for _, event := range []string{"loaded", "rendered", "loaded"} {
			r := records.AppendEmpty()
			r.SetTraceID(pcommon.TraceID{trace})
			r.SetEventName(event)
		}
	}
	body, err := plogotlp.NewExportRequestFromLogs(logs).MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write(body) // into memory
	_ = z.Close()
	profiles := pprofile.NewProfiles()
	of := profiles.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles()
	for _, id := range []byte{1, 2, 1, 3} {
		of.AppendEmpty().SetProfileID(pprofile.ProfileID{id})
	}
	profile, err := pprofileotlp.NewExportRequestFromProfiles(profiles).MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	for _, status := range []int{send("/v1/logs", "", body), send("/v1/logs", "gzip", zipped.Bytes()), send("/v1development/profiles", "", profile)} {
		if status != http.StatusOK {
			t.Errorf("the answer is %d", status)
		}
	}
	n, err := s.countRecords(t.Context(), "", time.Time{})
	m, err2 := s.countProfiles(t.Context(), "", time.Time{})
	if n != 4 || m != 3 || err != nil || err2 != nil {
		t.Errorf("%d log records and %d profiles, want 4 and 3; %v, %v", n, m, err, err2)
	}
	if status := send("/v1/logs", "gzip", []byte("noise")); status != http.StatusBadRequest {
		t.Errorf("the answer to noise is %d", status)
	}
	if _, err := s.countRecords(t.Context(), "", time.Time{}); err == nil {
		t.Error("noise is no error")
	}
}

// A Collector that is killed cuts its requests short. They do not count, and are no error.
func TestSinkOfAKilledCollector(t *testing.T) {
	s, err := newSink(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	}()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST /v1/logs HTTP/1.1\r\nHost: sink\r\nContent-Length: 100\r\n\r\nbegun"); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") {
		t.Errorf("the answer is %q, %v; want status 400", answer, err)
	}
	if n, err := s.countRecords(t.Context(), "", time.Time{}); n != 0 || err != nil {
		t.Errorf("%d log records, %v; want none, and no error", n, err)
	}
}

func TestSaidOnce(t *testing.T) {
	const line = `level=WARN msg="perfline: the receiver does not know log records; they are dropped"` + "\n"
	for _, c := range []struct{ name, log, want string }{
		{"once", "level=INFO msg=started\n" + line, ""},
		{"never", "level=INFO msg=started\n", "0 lines"},
		{"twice", line + line, "2 lines"},
		{"another line", strings.ReplaceAll(line, "the receiver does not know log records", "log records are refused"), "1 lines"},
	} {
		t.Run(c.name, func(t *testing.T) { wants(t, saidOnce(c.log), c.want) })
	}
}
