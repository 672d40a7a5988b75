package live

import (
	"strings"
	"testing"
)

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
			if got := shown(c.text); got != c.want {
				t.Errorf("shown(%q) = %q, want %q", c.text, got, c.want)
			}
		})
	}
	if got, want := block(strings.Repeat("a\n", 501)), strings.Repeat("a\n", 500)+"… (2 bytes more)"; got != want {
		t.Errorf("block is %q, want lines, and how much is left out", got)
	}
}
