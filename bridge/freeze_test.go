package bridge_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"

	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/marks"
)

// A header may change as soon as the call that marked it returns. Before values
// were frozen, Go ended the program: "concurrent map iteration and map write". That
// cannot be recovered, so another process tries.
func TestMarkedHeaderMayChange(t *testing.T) {
	const inside = "PERFLINE_TEST_MARKED_HEADER"
	if os.Getenv(inside) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMarkedHeaderMayChange$", "-test.v")
		cmd.Env = append(os.Environ(), inside+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%.2000s", err, out)
		}
		return
	}
	overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
		markHeaders(t, open(bothproviders.Options{}))
	})
}

func markHeaders(t *testing.T, r *rig) {
	header := http.Header{}
	for range 10 {
		ctx, span := r.tracer.Start(r.ctx, "span")
		for range 100 {
			header.Set("A", "1")
			marks.Mark(ctx, "m", slog.Any("h", header))
			tm := marks.Time(ctx, "t", slog.Any("h", header))
			for i := range 50 {
				header.Set(fmt.Sprint("K", i), "v")
			}
			tm.End()
		}
		span.End()
		clear(header)
	}
	r.flush(t)
	for _, s := range r.got.all() {
		shown := text(s.Attributes())
		if s.Name() == "span" {
			shown = text(s.Events()[0].Attributes)
		}
		if !strings.HasPrefix(shown, "h=STRING:") { // on a slow machine the text may be cut anywhere
			t.Fatalf("%s has %s, want the text of the header", s.Name(), shown)
		}
	}
}

// Entry JSON and OpenTelemetry's attributes show the same values.
func TestJSONAndAttributesAgree(t *testing.T) {
	attrs := []slog.Attr{
		slog.Bool("bool", true), slog.Int("int", -1), slog.Uint64("uint", 1), slog.Float64("float", .5), slog.String("string", "s"),
		slog.Any("strings", []string{"a", "b"}), slog.Any("bools", []bool{true}), slog.Any("int64s", []int64{1}), slog.Any("float64s", []float64{.5}),
		slog.Any("bytes", []byte("\x00ab\xff")), slog.Any("error", errors.New("bad")), slog.Any("map", map[string]int{"a": 1}), slog.Any("ints", []int{1}),
		slog.Any("nil", nil), slog.Any("struct", struct{ A int }{1}), slog.Any("panics", unspeakable{}), slog.Any("nothing", []string(nil)),
		slog.Any("deep", [][][]int{{{1}}}), slog.Any("text", slog.LevelWarn), slog.Any("lazy", valuer{}),
	}
	overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
		r := open(bothproviders.Options{})
		ctx, span := r.tracer.Start(r.ctx, "span")
		marks.Mark(ctx, "mark", attrs...)
		marks.Time(ctx, "measure", attrs...).End()
		_, started := marks.Start(ctx, "started", attrs...)
		started.End()
		entries := entriesOf(ctx)
		span.End()
		r.flush(t)
		got := map[string][]attribute.KeyValue{
			"mark":    r.got.one(t, "span").Events()[0].Attributes,
			"measure": r.got.one(t, "measure").Attributes(), "started": r.got.one(t, "started").Attributes(),
		}
		for _, e := range entries {
			if got[e.Name()] == nil {
				continue
			}
			text, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			var entry struct{ Detail map[string]any }
			if err := json.Unmarshal(text, &entry); err != nil {
				t.Fatal(err)
			}
			other := map[string]any{}
			for _, kv := range got[e.Name()] {
				text, err := json.Marshal(kv.Value.AsInterface())
				if err != nil {
					t.Fatal(err)
				}
				var v any
				if err := json.Unmarshal(text, &v); err != nil {
					t.Fatal(err)
				}
				other[string(kv.Key)] = v
			}
			if g, ok := entry.Detail["lazy"].(map[string]any); ok { // groups are flat there
				delete(entry.Detail, "lazy")
				for key, v := range g {
					entry.Detail["lazy."+key] = v
				}
			}
			if !reflect.DeepEqual(entry.Detail, other) {
				t.Errorf("%s:\nJSON       %v\nattributes %v", e.Name(), entry.Detail, other)
			}
		}
	})
}

// unspeakable is an error that cannot say what it is.
type unspeakable struct{}

func (unspeakable) Error() string { panic("no") }

type exits struct{}

func (exits) Error() string { runtime.Goexit(); return "" }

// A span ends even where an attribute of its end ends the goroutine.
func TestGoexitInAnAttributeEndsTheSpan(t *testing.T) {
	overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
		r := open(bothproviders.Options{})
		ctx, span := r.tracer.Start(r.ctx, "span")
		var wg sync.WaitGroup
		wg.Go(func() {
			_, started := marks.Start(ctx, "started")
			started.End(slog.Any("k", exits{}))
		})
		wg.Go(func() { marks.Mark(ctx, "mark", slog.Any("k", exits{})) })
		wg.Wait()
		span.End()
		r.flush(t)
		if got := text(r.got.one(t, "started").Attributes()); got != "k=STRING:!GOEXIT" {
			t.Errorf("the measure has %s", got)
		}
		if got := events(r.got.one(t, "span")); !slices.Equal(got, []string{"mark"}) {
			t.Errorf("the span has %v", got)
		}
	})
}
