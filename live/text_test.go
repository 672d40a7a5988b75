package live_test

import (
	"net/http"
	"strings"
	"testing"

	otelattribute "go.opentelemetry.io/otel/attribute"

	"github.com/perfline/perfline/internal/requests"
)

// Names from outside are shown in one line, of 200 characters at most, with codes for what cannot be seen.
func TestTextFromOutside(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain", "GET /products/{id}", "GET /products/{id}"},
		{"scripts of people", "größe 商品 שלום प्रिया 👩🏽", "größe 商品 שלום प्रिया 👩🏽"},
		{"control", "a\x00b\x1b[31m\r\n\t\u007f", `a\u0000b\u001b[31m\u000d\u000a\u0009\u007f`},
		{"direction", "a\u202eb\u2066c", `a\u202eb\u2066c`},
		{"invalid", "a\xffb\ufffd", `a\ufffdb\ufffd`},
		{"spaces", "a b\u00a0c\u3000d\u2028e", `a b\u00a0c\u3000d\u2028e`},
		{"no width", "a\u200bb\u00adc\ufeff", `a\u200bb\u00adc\ufeff`},
		{"ignorable", "a\u3164b\u034fc\uffa0d\u115f", `a\u3164b\u034fc\uffa0d\u115f`},
		{"variation selectors", "a\ufe0fb\U000e0100c\u180b", `a\ufe0fb\ue0100c\u180b`},
		{"tags", "a\U000e0041", `a\ue0041`},
		{"blank signs", "a\u2800b\U0001d159", `a\u2800b\u1d159`},
		{"as long as may be", strings.Repeat("ü", 200), strings.Repeat("ü", 200)},
		{"longer", strings.Repeat("ü", 201), strings.Repeat("ü", 200) + "…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, request := aQuiet(t, requests.Config{})
			request(c.text)
			if got := p.overview().Requests.Requests[0].Name; got != c.want {
				t.Errorf("%q is shown as %q, want %q", c.text, got, c.want)
			}
		})
	}
}

// Values from outside have lines, and 1000 characters at most.
func TestValuesFromOutside(t *testing.T) {
	p, request := aQuiet(t, requests.Config{})
	path := request("a", otelattribute.String("lines", strings.Repeat("a\n", 501)))
	var d detail
	p.get(path, http.StatusOK, &d)
	if got, want := d.Rows[0].Attributes[0].Value, strings.Repeat("a\n", 500)+"… (2 bytes more)"; got != want {
		t.Errorf("value is %q, want lines, and how much is left out", got)
	}
}
