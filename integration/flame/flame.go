// Package flame draws flame graphs for the README.
package flame

import (
	"bufio"
	"cmp"
	"fmt"
	"hash/fnv"
	"html"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// Measures of the picture, in pixels.
const (
	width  = 960
	row    = 18
	header = 34
	letter = 6.7 // of the font used, about
	least  = 1.0 // narrower frames are left out
)

// A frame is a function called from a stack, and what was sampled there and below.
type frame struct {
	name     string
	value    int64
	children map[string]*frame
}

// Draw draws the profile's last value, a time in nanoseconds, as an SVG picture: each
// frame as wide as its share, those that it called below it, the widest first.
func Draw(w io.Writer, title string, p *profile.Profile) error {
	root := &frame{name: "all"}
	for _, s := range p.Sample {
		v := s.Value[len(s.Value)-1]
		root.value += v
		at := root
		for i := len(s.Location) - 1; i >= 0; i-- {
			for k := len(s.Location[i].Line) - 1; k >= 0; k-- { // inlined calls, outermost last
				at = at.child(s.Location[i].Line[k].Function.Name)
				at.value += v
			}
		}
	}
	if root.value <= 0 {
		return fmt.Errorf("a flame graph of %q: the profile has no samples", title)
	}
	b := bufio.NewWriter(w)
	height := header + row*root.depth(width/float64(root.value)) + 8
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="ui-monospace,monospace" font-size="11">`+"\n",
		width, height, width, height)
	fmt.Fprintf(b, `<rect width="100%%" height="100%%" fill="#fff"/><text x="8" y="20" font-weight="bold" font-size="12">%s, %v of CPU</text>`+"\n",
		html.EscapeString(title), time.Duration(root.value).Round(time.Millisecond))
	root.draw(b, 0, header, width/float64(root.value), root.value)
	fmt.Fprintln(b, "</svg>")
	return b.Flush()
}

func (f *frame) child(name string) *frame {
	c := f.children[name]
	if c == nil {
		if f.children == nil {
			f.children = map[string]*frame{}
		}
		c = &frame{name: name}
		f.children[name] = c
	}
	return c
}

// depth is how many rows are drawn, with as many pixels for each unit.
func (f *frame) depth(scale float64) int {
	deepest := 0
	for _, c := range f.children {
		if float64(c.value)*scale >= least {
			deepest = max(deepest, c.depth(scale))
		}
	}
	return deepest + 1
}

func (f *frame) draw(b *bufio.Writer, x float64, y int, scale float64, all int64) {
	wide := float64(f.value) * scale
	fmt.Fprintf(b, `<g><title>%s: %v, %.1f %%</title><rect x="%.1f" y="%d" width="%.1f" height="%d" rx="2" fill="%s"/>`,
		html.EscapeString(f.name), time.Duration(f.value).Round(time.Millisecond), float64(f.value)/float64(all)*100, x, y, max(0.5, wide-1), row-1, colour(f.name))
	if text := fit(short(f.name), wide-6); text != "" {
		fmt.Fprintf(b, `<text x="%.1f" y="%d">%s</text>`, x+3, y+13, html.EscapeString(text))
	}
	fmt.Fprintln(b, "</g>")
	children := make([]*frame, 0, len(f.children))
	for _, c := range f.children {
		if float64(c.value)*scale >= least {
			children = append(children, c)
		}
	}
	slices.SortFunc(children, func(a, b *frame) int {
		return cmp.Or(cmp.Compare(b.value, a.value), strings.Compare(a.name, b.name))
	})
	for _, c := range children {
		c.draw(b, x, y+row, scale, all)
		x += float64(c.value) * scale
	}
}

// short is a function's name without its package's folders.
func short(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// fit cuts a text that is too long for a width; what has no room for three letters is
// left out.
func fit(text string, wide float64) string {
	room := int(wide / letter)
	switch letters := []rune(text); {
	case len(letters) <= room:
		return text
	case room < 4:
		return ""
	default:
		return string(letters[:room-1]) + "…"
	}
}

// colour is one for each package.
func colour(name string) string {
	end := strings.LastIndexByte(name, '/') + 1
	if dot := strings.IndexByte(name[end:], '.'); dot >= 0 {
		name = name[:end+dot]
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	return fmt.Sprintf("hsl(%d 60%% 80%%)", h.Sum32()%360)
}
