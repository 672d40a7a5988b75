package service

import (
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/profiling/service/profilerv1"
)

func FuzzCut(f *testing.F) {
	for _, s := range []string{"", "a", "\xff", "é", strings.Repeat("a", 1024), strings.Repeat("a", 1025), strings.Repeat("é", 600), strings.Repeat("a", 1019) + "世界世界", strings.Repeat("\x80", 2000), strings.Repeat("a\xff", 2000)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := cut(s)
		if !utf8.ValidString(got) {
			t.Fatalf("%q is not UTF-8", got)
		}
		if utf8.ValidString(s) && len(s) <= 1024 && got != s {
			t.Errorf("%q became %q: it is as it should be", s, got)
		}
		if utf8.ValidString(s) && len(s) > 1024 {
			if begin, is := strings.CutSuffix(got, "…"); !is || !strings.HasPrefix(s, begin) || len(got) > 1024 || len(got) <= 1024-utf8.UTFMax {
				t.Errorf("%d bytes became %d, %q: want the first of them and an ellipsis, 1024 bytes or nearly", len(s), len(got), got)
			}
		}
		if len(got) > 3*1024 {
			t.Errorf("%d bytes became %d", len(s), len(got))
		}
		if _, err := proto.Marshal(&profilerv1.Event{Name: got}); err != nil {
			t.Error(err)
		}
	})
}
