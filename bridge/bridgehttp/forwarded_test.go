package bridgehttp_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/perfline/perfline/bridge/bridgehttp"
)

// The attributes of what the client sent, as proxies tell it, as "client.address scheme server.address:port".
func TestForwarded(t *testing.T) {
	const direct = "192.0.2.1 http shop.example:8080"
	for _, c := range []struct {
		name   string
		header http.Header
		want   string
	}{
		{"no proxy", nil, direct},
		{"an address", http.Header{"X-Forwarded-For": {"203.0.113.9"}}, "203.0.113.9 http shop.example:8080"},
		{"with a port", http.Header{"X-Forwarded-For": {"203.0.113.9:51234, 198.51.100.7"}}, "203.0.113.9 http shop.example:8080"},
		{"IPv6", http.Header{"X-Forwarded-For": {"2001:db8::7"}}, "2001:db8::7 http shop.example:8080"},
		{"IPv6 with a port", http.Header{"X-Forwarded-For": {"[2001:db8::7]:51234"}}, "2001:db8::7 http shop.example:8080"},
		{"IPv6 in brackets", http.Header{"X-Forwarded-For": {"[2001:db8::7]"}}, "2001:db8::7 http shop.example:8080"},
		{"IPv6 with a zone", http.Header{"X-Forwarded-For": {"fe80::1%<script>"}}, "fe80::1 http shop.example:8080"},
		{"several fields", http.Header{"X-Forwarded-For": {"", " , 203.0.113.9", "198.51.100.7"}}, "203.0.113.9 http shop.example:8080"},
		{"a name", http.Header{"X-Forwarded-For": {"unknown, 198.51.100.7"}}, direct},
		{"a text", http.Header{"X-Forwarded-For": {"<script>alert(1)</script>"}}, direct},
		{"no address", http.Header{"X-Forwarded-For": {"203.0.113.900"}}, direct},
		{"nothing", http.Header{"X-Forwarded-For": {" , ,"}, "Forwarded": {""}}, direct},
		{"a scheme", http.Header{"X-Forwarded-Proto": {"HTTPS"}}, "192.0.2.1 https shop.example:8080"},
		{"several schemes", http.Header{"X-Forwarded-Proto": {"https,http"}}, "192.0.2.1 https shop.example:8080"},
		{"no scheme", http.Header{"X-Forwarded-Proto": {"gopher"}}, direct},
		{"a host", http.Header{"X-Forwarded-Host": {"www.shop.example"}}, "192.0.2.1 http www.shop.example:"},
		{"a host with a port", http.Header{"X-Forwarded-Host": {"www.shop.example:8443"}}, "192.0.2.1 http www.shop.example:8443"},
		{"a host with its scheme's port", http.Header{"X-Forwarded-Host": {"www.shop.example:443"}, "X-Forwarded-Proto": {"https"}}, "192.0.2.1 https www.shop.example:"},
		{"no host", http.Header{"X-Forwarded-Host": {"<b>shop</b>"}}, direct},
		{"all of RFC 7239", http.Header{"Forwarded": {`for=203.0.113.9;proto=https;by=198.51.100.1;host=www.shop.example`}}, "203.0.113.9 https www.shop.example:"},
		{"names in any case", http.Header{"Forwarded": {`FOR=203.0.113.9; Proto=HTTPS`}}, "203.0.113.9 https shop.example:8080"},
		{"quoted", http.Header{"Forwarded": {`for="[2001:db8::7]:4711";host="www.shop.example:8443"`}}, "2001:db8::7 http www.shop.example:8443"},
		{"quoted without need", http.Header{"Forwarded": {`for="203\.0.113.9" ; proto=https`}}, "203.0.113.9 https shop.example:8080"},
		{"a comma and a semicolon in quotes", http.Header{"Forwarded": {`by="a,b;\",c";for=203.0.113.9, for=198.51.100.7`}}, "203.0.113.9 http shop.example:8080"},
		{"hidden", http.Header{"Forwarded": {`for=_hidden;proto=https, for=198.51.100.7`}}, "192.0.2.1 https shop.example:8080"},
		{"unknown", http.Header{"Forwarded": {`for=unknown`}}, direct},
		{"several fields of RFC 7239", http.Header{"Forwarded": {"", "for=203.0.113.9", "for=198.51.100.7;proto=https"}}, "203.0.113.9 http shop.example:8080"},
		{"the standard before the custom", http.Header{"Forwarded": {"for=203.0.113.9"}, "X-Forwarded-For": {"198.51.100.7"}, "X-Forwarded-Proto": {"https"}}, "203.0.113.9 https shop.example:8080"},
		{"without an equals sign", http.Header{"Forwarded": {"203.0.113.9"}}, direct},
		{"a quote without its end", http.Header{"Forwarded": {`for="203.0.113.9`}}, direct},
		{"more after a quote", http.Header{"Forwarded": {`for="203.0.113.9"0`}}, direct},
		{"very long", http.Header{"Forwarded": {`for="\` + strings.Repeat("1", 1<<20) + `"`}, "X-Forwarded-For": {strings.Repeat("1", 1<<20)}}, direct},
	} {
		t.Run(c.name, func(t *testing.T) {
			serve := func(ignore bool) string {
				r := withProcessor(t)
				h := bridgehttp.Server{TracerProvider: r.provider, Timeline: r.tl, IgnoreForwarded: ignore}.Middleware(http.NotFoundHandler())
				req := httptest.NewRequest(http.MethodGet, "http://shop.example:8080/", nil)
				req.Header = c.header
				h.ServeHTTP(httptest.NewRecorder(), req)
				r.flush(t)
				s := r.got.one(t, "GET")
				return tag(s, "client.address") + " " + tag(s, "url.scheme") + " " + tag(s, "server.address") + ":" + tag(s, "server.port")
			}
			if got := serve(false); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if got := serve(true); got != direct {
				t.Errorf("IgnoreForwarded: got %s\nwant %s", got, direct)
			}
		})
	}
}

// The peer is an address, or unknown.
func TestPeer(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:1234": "192.0.2.1 1234", "[2001:db8::7]:1234": "2001:db8::7 1234", "192.0.2.1": "192.0.2.1 ",
		"": " ", "@": " ", "/run/shop.sock": " ", "pipe": " ", "<script>:1": " ",
	} {
		r := withProcessor(t)
		h := bridgehttp.Server{TracerProvider: r.provider, Timeline: r.tl}.Middleware(http.NotFoundHandler())
		req := httptest.NewRequest(http.MethodGet, "/", nil)
		req.RemoteAddr = remote
		h.ServeHTTP(httptest.NewRecorder(), req)
		r.flush(t)
		s := r.got.one(t, "GET")
		if got := tag(s, "network.peer.address") + " " + tag(s, "network.peer.port"); got != want || tag(s, "client.address") != tag(s, "network.peer.address") {
			t.Errorf("%q: the peer is %q, the client %q; want %q and its address", remote, got, tag(s, "client.address"), want)
		}
	}
}

// Behind a Unix socket, as nginx has one, the proxy says who the client is.
func TestForwardedOverUnixSocket(t *testing.T) {
	r := withProcessor(t)
	h := bridgehttp.Server{TracerProvider: r.provider, Timeline: r.tl}.Middleware(http.NotFoundHandler())
	req := httptest.NewRequest(http.MethodGet, "/", nil)
	req.RemoteAddr = "@"
	req.Header.Set("X-Forwarded-For", "203.0.113.9")
	h.ServeHTTP(httptest.NewRecorder(), req)
	r.flush(t)
	if s := r.got.one(t, "GET"); tag(s, "client.address") != "203.0.113.9" || tag(s, "network.peer.address") != "" {
		t.Errorf("client %q, peer %q; want the first only", tag(s, "client.address"), tag(s, "network.peer.address"))
	}
}
