package spanlabels_test

import (
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/perfline/perfline/internal/spanlabels"
)

// FuzzFromText compares with a naive reading of the same labels.
func FuzzFromText(f *testing.F) {
	const span, trace = "0123456789abcdef", "0123456789abcdef0123456789abcdef"
	f.Add(span, trace, "name", "app", "shop", true)
	f.Add(strings.ToUpper(span), trace, "name", "app", "shop", true)
	f.Add(strings.Repeat("0", 16), trace, "name", "", "", false)
	f.Add(span[1:], trace, "name", "span_name", "other", true)
	f.Add(span, trace+"0", "\xff", "trace_id", "", true)
	f.Add(span, trace[:31]+"g", "", "span_id", "x", true)
	ids := map[string]*regexp.Regexp{"span_id": regexp.MustCompile(`^[0-9a-f]{16}$`), "trace_id": regexp.MustCompile(`^[0-9a-f]{32}$`)}
	f.Fuzz(func(t *testing.T, span, trace, name, key, value string, more bool) {
		model := map[string]string{"span_id": span, "span_name": name, "trace_id": trace}
		if more {
			model[key] = value
		}
		var list, rest []spanlabels.Label
		for k, v := range model {
			list = append(list, spanlabels.Label{k, v})
			if k != "span_id" && k != "span_name" && k != "trace_id" {
				rest = append(rest, spanlabels.Label{k, v})
			}
		}
		valid := true
		for k, re := range ids {
			valid = valid && re.MatchString(model[k]) && strings.Trim(model[k], "0") != ""
		}
		traceID, spanID, gotName, user, ok := spanlabels.FromText(list)
		switch {
		case ok != valid:
			t.Fatalf("%q is a span's: %v, want %v", list, ok, valid)
		case !ok:
			if traceID != [16]byte{} || spanID != [8]byte{} || gotName != "" || !slices.Equal(user, list) {
				t.Errorf("of none it tells %v %v %q %q", traceID, spanID, gotName, user)
			}
		case hex.EncodeToString(traceID[:]) != model["trace_id"], hex.EncodeToString(spanID[:]) != model["span_id"],
			gotName != model["span_name"], !slices.Equal(user, rest):
			t.Errorf("%q reads as %v %v %q %q", list, traceID, spanID, gotName, user)
		}
	})
}

const maxName = 128 // bytes of a name, as the package's documentation says

func FuzzNames(f *testing.F) {
	for _, s := range []string{"", "a", strings.Repeat("é", maxName), strings.Repeat("\xff", maxName), strings.Repeat("x", maxName-1) + "\xf0\x9f\x92"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		defer spanlabels.Hold(spanlabels.EverySpan)()
		s := spanlabels.Set(t.Context(), spanContext([16]byte{1}, [8]byte{1}), name, true)
		defer s.End("")
		got := s.Name()
		if !utf8.ValidString(got) || len(got) > maxName {
			t.Errorf("%q becomes %q", name, got)
		}
		if utf8.ValidString(name) && (!strings.HasPrefix(name, got) || len(got) < len(name) && len(got) <= maxName-utf8.UTFMax) {
			t.Errorf("%q is cut to %q", name, got)
		}
	})
}
