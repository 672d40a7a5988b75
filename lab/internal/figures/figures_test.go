package figures_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perfline/perfline/lab/internal/figures"
)

func TestFigures(t *testing.T) {
	yes, no := true, false
	path := filepath.Join(t.TempDir(), "figures")
	for _, c := range []struct {
		name, goal, value string
		met               *bool
	}{
		{"CPU added", "≤ 0.36", "0.43 (0.41 … 0.45)", &no},
		{"allocations added", "≤ 6", "6", &yes},
		{"highest rate", "", "40000/s", nil},
	} {
		if err := figures.Add(path, c.name, c.goal, c.value, c.met); err != nil {
			t.Fatal(err)
		}
	}
	got, err := figures.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []figures.Figure{
		{"CPU added", "≤ 0.36", "0.43 (0.41 … 0.45)", figures.Missed},
		{"allocations added", "≤ 6", "6", figures.Met},
		{"highest rate", "", "40000/s", figures.None},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFiguresOfNoFile(t *testing.T) {
	if err := figures.Add("", "a", "b", "c", nil); err != nil {
		t.Errorf("Add without a path: %v", err)
	}
	got, err := figures.Read(filepath.Join(t.TempDir(), "none"))
	if err != nil || len(got) > 0 {
		t.Errorf("Read of no file: %v, %v", got, err)
	}
}

func TestFigureOfTwoLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "figures")
	err := figures.Add(path, "a\nb", "", "1", nil)
	if err == nil || !strings.Contains(err.Error(), `a\nb`) {
		t.Errorf("got %v, want an error that names the field", err)
	}
}
