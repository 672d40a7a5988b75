package perfline_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"time"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/guard"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/profiling/otlpprofiles"
)

// blurt is the program of TestNoSecretComesOut: it prints all that there is to be printed, and
// returns why it could not.
func blurt() error {
	var c perfline.Config
	var profiles otlpprofiles.Config
	if os.Getenv(fieldsVariable) != "" {
		take := func(name string) string {
			v := os.Getenv(name)
			_ = os.Unsetenv(name)
			return v
		}
		c.Traces.Endpoint = take("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
		if c.Traces.Endpoint == "" {
			c.Traces.Endpoint = os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")
		}
		c.Traces.Headers = map[string]string{"Authorization": "Bearer " + canary}
		c.Logs.Endpoint, c.Logs.Headers = c.Traces.Endpoint, c.Traces.Headers
		profiles.Endpoint, profiles.Headers = c.Traces.Endpoint, c.Traces.Headers
		c.Profiles.ServerAddress = take("PYROSCOPE_SERVER_ADDRESS")
		c.Profiles.BasicAuthUser, c.Profiles.BasicAuthPassword = take("PYROSCOPE_BASIC_AUTH_USER"), take("PYROSCOPE_BASIC_AUTH_PASSWORD")
		if json.Unmarshal([]byte(os.Getenv("PYROSCOPE_HTTP_HEADERS")), &c.Profiles.Headers) == nil {
			_ = os.Unsetenv("PYROSCOPE_HTTP_HEADERS")
		}
	}
	c.Service = "shop"
	c.ProfileExporter = otlpprofiles.New(profiles)
	vain := os.Getenv(vainVariable)
	out := &watched{text: []byte(vain), found: make(chan struct{})}
	c.Logger = slog.New(slog.NewJSONHandler(out, nil))
	slog.SetDefault(slog.New(slog.NewTextHandler(out, nil)))
	for _, v := range []any{c, &c, c.Traces, &c.Traces, c.Logs, &c.Logs, c.Profiles, &c.Profiles, profiles, &profiles, c.ProfileExporter} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Printf(verb+"\n", v)
		}
		slog.Info("config", "v", v)
		c.Logger.Info("config", "v", v, slog.Group("g", "v", v))
		text, err := json.Marshal(v)
		fmt.Printf("%s %v\n", text, err)
	}

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	pl, err := perfline.Start(ctx, c)
	if err != nil {
		fmt.Printf("Start: %v %+v %#v\n", err, err, err)
		return nil
	}
	fmt.Printf("%v %+v\n", pl, pl)
	serveOne(ctx)
	flush, cancelFlush := context.WithCancel(ctx)
	defer cancelFlush()
	if vain != "" {
		go func() {
			defer cancelFlush()
			select {
			case <-out.found:
			case <-ctx.Done():
			}
			for !allFailed(pl.Stats()) && ctx.Err() == nil {
				time.Sleep(10 * time.Millisecond)
			}
		}()
	}
	fmt.Printf("Flush: %v\n", pl.Flush(flush))

	if err := printPage(pl); err != nil {
		return err
	}
	if vain != "" {
		var cancelStop context.CancelFunc
		ctx, cancelStop = context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancelStop()
	}
	err = pl.Shutdown(ctx)
	fmt.Printf("Shutdown: %v %+v\n", err, err)
	s := pl.Stats()
	if s.Delivery.Delivered > 0 {
		fmt.Println("delivered")
	}
	fmt.Printf("%v %+v\n", s, pl.Counts())
	return nil
}

// watched is the program's output. It looks for a text in what is logged.
type watched struct {
	text  []byte
	once  sync.Once
	found chan struct{} // closed when the text was there
}

func (w *watched) Write(line []byte) (int, error) {
	if bytes.Contains(line, w.text) {
		w.once.Do(func() { close(w.found) })
	}
	return os.Stdout.Write(line)
}

// allFailed reports whether each delivery has sent something in vain, which the log tells.
func allFailed(s perfline.Stats) bool {
	p := s.Profiles
	for _, failures := range []uint64{
		s.Delivery.Failed + s.Delivery.Retries, s.Logs.Failed + s.Logs.Retries,
		p.Refused + p.Unanswered + p.Retries, s.OTLPProfiles.Refused + s.OTLPProfiles.Unanswered + s.OTLPProfiles.Retries,
	} {
		if failures == 0 {
			return false
		}
	}
	return true
}

// printPage prints what the live page and the files have of the requests.
func printPage(pl *perfline.Pipeline) error {
	refused := errors.New("no")
	page := live.Handler(pl, live.Config{Data: guard.Everything, Authorize: func(*http.Request) error { return refused }})
	get := func(path string, want int) error {
		w := httptest.NewRecorder()
		page.ServeHTTP(w, httptest.NewRequest(http.MethodGet, live.Prefix+path, http.NoBody))
		fmt.Println(w.Code, w.Header(), w.Body)
		if w.Code != want {
			return fmt.Errorf("%s: got %d, want %d", path, w.Code, want)
		}
		return nil
	}
	err := get("data/v1/overview?token="+canary, http.StatusForbidden)
	refused = nil
	err = errors.Join(err, get("", http.StatusOK), get("data/v1/overview", http.StatusOK))
	all := stored(pl).Requests()
	if len(all) != 1 {
		err = errors.Join(err, fmt.Errorf("%d requests are kept, want the one", len(all)))
	}
	for _, s := range all {
		q := s.Request()
		err = errors.Join(err, get(fmt.Sprintf("data/v1/requests/%s/%s", q.TraceID(), q.Root.SpanID), http.StatusOK),
			requests.WriteSVG(os.Stdout, q), requests.WriteWaterfall(os.Stdout, q, nil))
		for _, s := range q.Spans {
			fmt.Println(s.Name, s.Attributes, s.Status, s.Events, s.Group.Resource(), s.TraceState)
		}
	}
	return err
}

// serveOne serves a request that brings secrets, and makes one that takes some along.
func serveOne(ctx context.Context) {
	to := "http://user:" + canary + "@127.0.0.1:1" // which is asked without a proxy
	if os.Getenv("HTTP_PROXY") != "" {
		to = "http://upstream.invalid"
	}
	client := &http.Client{Transport: bridgehttp.Transport(&http.Transport{Proxy: http.ProxyFromEnvironment})}
	h := bridgehttp.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		defer marks.Time(r.Context(), "work").End()
		marks.Mark(r.Context(), "called")
		req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, to+"/x?token="+canary+"#"+canary, http.NoBody)
		if err != nil {
			fmt.Println(err)
			return
		}
		req.Header.Set("Authorization", "Bearer "+canary)
		if resp, err := client.Do(req); err == nil {
			resp.Body.Close()
		}
	}))
	r := httptest.NewRequest(http.MethodGet, "/x?token="+canary, http.NoBody).WithContext(ctx)
	r.Header.Set("Authorization", "Bearer "+canary)
	r.Header.Set("Cookie", "session="+canary)
	r.Header.Set("Referer", "http://h/?token="+canary)
	r.Header.Set("Baggage", "token="+canary)
	h.ServeHTTP(httptest.NewRecorder(), r)
}
