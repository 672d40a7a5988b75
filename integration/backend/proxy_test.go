package backend

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// newProxy is a proxy to a server that counts requests.
func newProxy(t *testing.T) (p *Proxy, requests *http.Client, served func() int) {
	t.Helper()
	n := make(chan struct{}, 1000)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		n <- struct{}{}
		_, _ = io.WriteString(w, "answer")
	}))
	t.Cleanup(srv.Close)
	p, err := NewProxy(t.Context(), srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	client := &http.Client{Transport: &http.Transport{}, Timeout: time.Minute}
	t.Cleanup(client.CloseIdleConnections)
	return p, client, func() int { return len(n) }
}

func set(t *testing.T, p *Proxy, m Mode) {
	t.Helper()
	if err := p.Set(m); err != nil {
		t.Fatal(err)
	}
}

// get asks through the proxy: the answer, or why there is none.
func get(p *Proxy, c *http.Client) (string, error) {
	resp, err := c.Get(p.URL())
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// TestProxyModes goes to each mode with a connection that was used before and comes
// back again.
func TestProxyModes(t *testing.T) {
	for _, c := range []struct {
		mode   Mode
		wait   time.Duration // of the client
		want   string        // in the error; "" means an answer
		served bool
	}{
		{Mode{Kind: Pass}, time.Minute, "", true},
		{Mode{Kind: Refuse}, time.Minute, "refused", false},
		{Mode{Kind: Hang}, 200 * time.Millisecond, "Client.Timeout", false},
		{Mode{Kind: Slow, Delay: 50 * time.Millisecond}, time.Minute, "", true},
		{Mode{Kind: Garbage}, time.Minute, "malformed", false},
	} {
		t.Run(string(c.mode.Kind), func(t *testing.T) {
			p, client, served := newProxy(t)
			if answer, err := get(p, client); answer != "answer" || err != nil {
				t.Fatalf("before: %q, %v", answer, err)
			}
			set(t, p, c.mode)
			for range 3 { // the first may use the connection from before
				before := served()
				client.Timeout = c.wait
				began := time.Now()
				answer, err := get(p, client)
				took := time.Since(began)
				switch {
				case c.want == "" && (err != nil || answer != "answer"):
					t.Errorf("answered %q, %v", answer, err)
				case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
					t.Errorf("answered %q, %v; want an error with %q", answer, err, c.want)
				}
				if (served() > before) != c.served {
					t.Errorf("%d requests came to the server, %d before", served(), before)
				}
				if took < c.mode.Delay {
					t.Errorf("the answer took %v, its delay is %v", took, c.mode.Delay)
				}
			}
			set(t, p, Mode{Kind: Pass})
			client.Timeout = time.Minute
			if answer, err := get(p, client); answer != "answer" || err != nil {
				t.Errorf("passing again: %q, %v", answer, err)
			}
		})
	}
}

// TestProxyLies has a client believe that its requests were taken.
func TestProxyLies(t *testing.T) {
	p, client, served := newProxy(t)
	set(t, p, Mode{Kind: Lie})
	for range 2 {
		resp, err := client.Post(p.URL(), "text/plain", bytes.NewReader(make([]byte, 10_000)))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || len(body) != 512 || err != nil {
			t.Errorf("answered %s with %d bytes, %v; want 200 with 512", resp.Status, len(body), err)
		}
	}
	if up, _ := p.Bytes(); served() != 0 || up < 20_000 {
		t.Errorf("%d requests came to the server, want none; the proxy read %d bytes", served(), up)
	}
	set(t, p, Mode{Kind: Pass})
	if answer, err := get(p, client); answer != "answer" || err != nil {
		t.Errorf("passing again: %q, %v", answer, err)
	}
}

// TestProxyCutsWhatIsBroken has connections of which bytes went nowhere when all is well
// again: what came after them would make no sense to the backend.
func TestProxyCutsWhatIsBroken(t *testing.T) {
	for _, kind := range []Kind{Hang, Garbage} {
		t.Run(string(kind), func(t *testing.T) {
			p, _, _ := newProxy(t)
			set(t, p, Mode{Kind: kind})
			conn, err := net.Dial("tcp", p.Address())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.Write([]byte("GET / HT")); err != nil {
				t.Fatal(err)
			}
			if err := Poll(t.Context(), func() (bool, error) {
				up, _ := p.Bytes()
				return up > 0, nil
			}); err != nil {
				t.Fatal(err)
			}
			set(t, p, Mode{Kind: Pass})
			if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("the connection is still open")
			}
		})
	}
}

// The kernel gives a connection no port of a proxy, which may refuse for a while.
func TestProxyKeepsItsPort(t *testing.T) {
	p, _, _ := newProxy(t)
	_, port, err := net.SplitHostPort(p.Address())
	if n, _ := strconv.Atoi(port); err != nil || n < loopbackPorts.first || n >= loopbackPorts.first+loopbackPorts.count {
		t.Errorf("the proxy listens on %s, %v; want a port from %d on, %d of them", p.Address(), err, loopbackPorts.first, loopbackPorts.count)
	}
}

func TestProxySpeed(t *testing.T) {
	p, client, _ := newProxy(t)
	set(t, p, Mode{Kind: Slow, BytesPerSecond: 100_000})
	began := time.Now()
	resp, err := client.Post(p.URL(), "text/plain", bytes.NewReader(make([]byte, 50_000)))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if took := time.Since(began); took < 500*time.Millisecond {
		t.Errorf("50 kB at 100 kB/s took %v", took)
	}
	if up, down := p.Bytes(); up < 50_000 || up > 51_000 || down < int64(len("answer")) || down > 1000 {
		t.Errorf("%d bytes up and %d down, want those of the request and the answer", up, down)
	}
}

// TestProxyWithoutTarget is a backend that is not there: its clients' connections end.
func TestProxyWithoutTarget(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	p, err := NewProxy(t.Context(), gone.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	conn, err := net.Dial("tcp", p.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, net.ErrClosed) {
		t.Errorf("read %d bytes, %v; want the connection's end", n, err)
	}
}

func TestProxyRefusesWhatIsWrong(t *testing.T) {
	if _, err := NewProxy(t.Context(), "nowhere"); err == nil || !strings.Contains(err.Error(), `"nowhere"`) {
		t.Errorf("error %v, want one that names the target", err)
	}
	p, _, _ := newProxy(t)
	if err := p.Set(Mode{Kind: "odd"}); err == nil || !strings.Contains(err.Error(), `"odd"`) {
		t.Errorf("error %v, want one that names the mode", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := p.Set(Mode{Kind: Pass}); err == nil {
		t.Error("a closed proxy passes again")
	}
}

// TestProxyCloseEnds has a client that hangs and one that is slow when the end comes.
func TestProxyCloseEnds(t *testing.T) {
	p, client, served := newProxy(t)
	set(t, p, Mode{Kind: Slow, Delay: time.Hour})
	failed := make(chan error, 1)
	go func() {
		_, err := get(p, client)
		failed <- err
	}()
	if err := Poll(t.Context(), func() (bool, error) { return served() == 1, nil }); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := <-failed; err == nil {
		t.Error("the request was answered")
	}
}

// What a proxy has forgotten swallows all for good. New connections work.
func TestProxyForgets(t *testing.T) {
	p, _, _ := newProxy(t)
	ask := func(conn net.Conn) error {
		if _, err := conn.Write([]byte("GET / HTTP/1.1\r\nHost: h\r\n\r\n")); err != nil {
			return err
		}
		if err := conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
			return err
		}
		_, err := conn.Read(make([]byte, 1))
		return err
	}
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", p.Address())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	before := dial()
	if _, err := before.Write([]byte("GET / HTTP/1.1\r\nHost: h\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := before.Read(make([]byte, 1<<10)); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []Kind{Forget, Pass} {
		set(t, p, Mode{Kind: kind})
		if err := ask(before); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: a connection that is forgotten says %v", kind, err)
		}
		now := dial()
		if _, err := now.Write([]byte("GET / HTTP/1.1\r\nHost: h\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		if _, err := now.Read(make([]byte, 1)); err != nil {
			t.Errorf("%s: a new connection says %v", kind, err)
		}
	}
}
