package perfline_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/observer"
)

// Each count has a name and words of its own, and none of those that Stats has is missing.
func TestCountsAreComplete(t *testing.T) {
	s := perfline.Stats{Timeline: observer.Stats{}}
	next := uint64(1)
	fill := func(v reflect.Value) {
		for i := range v.NumField() {
			if f := v.Field(i); f.Kind() == reflect.Uint64 {
				f.SetUint(next)
				next++
			}
		}
	}
	var mark observer.TypeStats
	fill(reflect.ValueOf(&mark).Elem())
	s.Timeline[observer.Mark] = mark
	fill(reflect.ValueOf(&s.Bridge).Elem())
	fill(reflect.ValueOf(&s.Delivery).Elem())
	fill(reflect.ValueOf(&s.Profiles).Elem())
	names, numbers := map[string]bool{}, map[uint64]bool{}
	for _, c := range s.Counts() {
		name := strings.Join([]string{c.Group, c.Kind, c.Name}, " ")
		if names[name] || c.What == "" || c.Group == "" {
			t.Errorf("%s: twice, or without words: %+v", name, c)
		}
		names[name], numbers[c.N] = true, true
	}
	for n := range next {
		if n > 0 && !numbers[n] {
			t.Errorf("the count with %d is missing", n)
		}
	}
}

// What is not there is not counted.
func TestCountsOfWhatExists(t *testing.T) {
	pl, _, _ := start(t, perfline.Config{})
	for _, c := range pl.Counts() {
		if c.Group == "perfline.delivery" || c.Group == "perfline.profiles" {
			t.Errorf("without a backend there is %+v", c)
		}
	}
	if err := pl.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
