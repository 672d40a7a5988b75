package repository_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A box of a picture. Its lines are below its title. Columns count from the left, rows from the
// top.
type box struct {
	class, title string
	lines        []string
	column, row  float64
}

// A picture is boxes, and arrows from one to another by their titles.
type picture struct {
	title         string
	width, across float64 // of a box, and from one column to the next
	down          bool    // arrows leave a box at the bottom, not at the right
	boxes         []box
	arrows        [][2]string
}

const pictureStyle = `<style>
text { font: 11px system-ui, sans-serif; fill: #495057; text-anchor: middle }
.name { font-size: 12px; font-weight: 600; fill: #212529 }
rect { stroke-width: 1.2 }
.records { fill: #e7f5ff; stroke: #1c7ed6 }
.spans { fill: #f3f0ff; stroke: #7048e8 }
.profiles { fill: #fff4e6; stroke: #e8590c }
.shows { fill: #ebfbee; stroke: #2f9e44 }
.outside { fill: none; stroke: #868e96; stroke-dasharray: 3 2 }
.arrow { stroke: #868e96; stroke-width: 1.5; marker-end: url(#head) }
.head { fill: #868e96 }
@media (prefers-color-scheme: dark) {
  text { fill: #adb5bd }
  .name { fill: #f1f3f5 }
  .records { fill: #0b2a45 }
  .spans { fill: #241b4a }
  .profiles { fill: #41200a }
  .shows { fill: #10331a }
}
</style>
<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" orient="auto"
 markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse">
<path class="head" d="M0 0L10 5L0 10z"/></marker></defs>
`

// svg draws the picture, or fails t if an arrow has no box or points back.
func (p picture) svg(t *testing.T) string {
	t.Helper()
	const margin, line, gap = 6, 14, 22
	tall := func(b box) float64 { return float64(line*len(b.lines) + 24) }
	left := func(b box) float64 { return margin + b.column*p.across }
	tops := map[float64]float64{} // of rows, by their numbers
	width, height := 0.0, margin-gap+0.0
	for row := 0.0; row < float64(len(p.boxes)); row++ {
		tops[row] = height + gap
		for _, b := range p.boxes {
			if b.row == row {
				width, height = max(width, left(b)+p.width), max(height, tops[row]+tall(b))
			}
		}
	}
	var s strings.Builder
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%[2]g" `+
		`viewBox="0 0 %[1]g %[2]g">`, width+margin, height+margin)
	fmt.Fprintf(&s, "\n<title>%s</title>\n%s", p.title, pictureStyle)
	for _, b := range p.boxes {
		x, y := left(b), tops[b.row]
		fmt.Fprintf(&s, `<rect class="%s" x="%g" y="%g" width="%g" height="%g" rx="6"/>`,
			b.class, x, y, p.width, tall(b))
		x += p.width / 2
		fmt.Fprintf(&s, `<text class="name" x="%g" y="%g">%s</text>`, x, y+17, b.title)
		for i, text := range b.lines {
			fmt.Fprintf(&s, `<text x="%g" y="%g">%s</text>`, x, y+32+float64(i*line), text)
		}
		s.WriteString("\n")
	}
	for _, a := range p.arrows {
		from, to := p.box(t, a[0]), p.box(t, a[1])
		down := p.down || from.column == to.column
		if down && to.row <= from.row || !down && to.column <= from.column {
			t.Errorf("%s: the arrow from %q to %q points back", p.title, a[0], a[1])
		}
		fromX, fromY := left(from)+p.width, tops[from.row]+tall(from)/2
		toX, toY := left(to)-1, tops[to.row]+tall(to)/2
		if down {
			fromX, fromY = left(from)+p.width/2, tops[from.row]+tall(from)
			toX, toY = left(to)+p.width/2, tops[to.row]-1
		}
		fmt.Fprintf(&s, "<path class=\"arrow\" d=\"M%g %gL%g %g\"/>\n", fromX, fromY, toX, toY)
	}
	s.WriteString("</svg>\n")
	return s.String()
}

// box returns the box with a title.
func (p picture) box(t *testing.T, title string) box {
	t.Helper()
	i := slices.IndexFunc(p.boxes, func(b box) bool { return b.title == title })
	if i < 0 {
		t.Fatalf("%s has no box %q", p.title, title)
	}
	return p.boxes[i]
}

// The way of the data, in one direction.
func TestDocumentedData(t *testing.T) {
	atRoot(t)
	documented(t, "docs/architecture-data.svg", "", picture{
		title: "The way of the data", width: 106, across: 128,
		boxes: []box{
			{"outside", "your code", []string{"calls marks in", "a request"}, 0, 0},
			{"records", "marks", []string{"Mark,", "Time … End"}, 1, 0},
			{"records", "journal", []string{"of one request:", "internal/record"}, 2, 0},
			{"spans", "bridge", []string{"encodes bytes", "at its end"}, 3, 0},
			{"shows", "exporter", []string{"sends bytes", "from a queue"}, 4, 0},
			{"outside", "backend", []string{"Jaeger, Tempo,", "any OTLP"}, 5, 0},
			{"outside", "Go’s runtime", []string{"knows goroutines", "and processors"}, 2, 1},
			{"profiles", "waits", []string{"causes of slow", "requests"}, 3, 1},
			{"shows", "requests", []string{"recent, slow and", "failed ones"}, 4, 1},
			{"shows", "pages", []string{"live,", "mcpserver"}, 5, 1},
			{"profiles", "profiling", []string{"samples with", "ids of spans"}, 3, 2},
			{"profiles", "pyroscope", []string{"and otlpprofiles:", "send profiles"}, 4, 2},
		},
		arrows: [][2]string{
			{"your code", "marks"}, {"marks", "journal"}, {"journal", "bridge"},
			{"bridge", "exporter"}, {"exporter", "backend"},
			{"bridge", "requests"}, {"waits", "requests"}, {"profiling", "requests"},
			{"bridge", "waits"}, {"Go’s runtime", "waits"}, {"Go’s runtime", "profiling"},
			{"requests", "pages"}, {"profiling", "pyroscope"},
		},
	}.svg(t))
}

// The packages by layers. The lines of a box are its packages, and arrows are imports, also those
// through packages that are not drawn. An arrow that follows from two others is left out. A box is
// below all boxes that import from it.
func TestDocumentedLayers(t *testing.T) {
	atRoot(t)
	layer := func(class, title string, column float64, packages ...string) box {
		return box{class: class, title: title, lines: packages, column: column}
	}
	p := picture{
		title: "The packages by layers", width: 160, across: 186, down: true,
		boxes: []box{
			layer("shows", "pages", 1.5, "live", "mcpserver", "profiling/service", "guard"),
			layer("spans", "adapters", 0,
				"bridge/bridgehttp", "bridge/bridgegrpc", "bridge/bridgelog", "bridge/bridgetest"),
			layer("shows", "start", 1.5, "perfline"),
			layer("shows", "store", 1, "requests", "internal/requests"),
			layer("profiles", "profiles", 2.5,
				"profiling/sessions", "profiling/pyroscope", "profiling/otlpprofiles"),
			layer("profiles", "waits", 1, "waits", "waits/flight"),
			layer("shows", "delivery", 2, "exporter", "internal/queue"),
			layer("profiles", "sampler", 3, "profiling", "profiling/profile"),
			layer("spans", "spans", 0, "bridge"),
			layer("records", "timeline", 1.5, "marks", "observer", "observer/observertest"),
			layer("records", "engine", 1.5, "internal/record"),
		},
	}
	needs := importsOfBoxes(t, p.boxes)
	for range p.boxes { // the longest way has fewer arrows than there are boxes
		for _, from := range p.boxes {
			for i, to := range p.boxes {
				if needs[from.title][to.title] {
					p.boxes[i].row = max(to.row, p.box(t, from.title).row+1)
				}
			}
		}
	}
	for _, from := range p.boxes {
		for _, to := range p.boxes {
			if !needs[from.title][to.title] {
				continue
			}
			if needs[to.title][from.title] {
				t.Errorf("%q and %q import from each other", from.title, to.title)
			}
			between := func(b box) bool {
				return needs[from.title][b.title] && needs[b.title][to.title]
			}
			if !slices.ContainsFunc(p.boxes, between) {
				p.arrows = append(p.arrows, [2]string{from.title, to.title})
			}
		}
	}
	documented(t, "docs/architecture-layers.svg", "", p.svg(t))
}

// importsOfBoxes returns from which boxes each box imports, by their titles. Each public package is
// in one box.
func importsOfBoxes(t *testing.T, boxes []box) map[string]map[string]bool {
	t.Helper()
	drawn, needs := map[string]string{}, map[string]map[string]bool{}
	for _, b := range boxes {
		needs[b.title] = map[string]bool{}
		for _, name := range b.lines {
			if drawn[name] != "" {
				t.Errorf("package %s is drawn twice", name)
			}
			drawn[name] = b.title
		}
	}
	packages := ownPackages(t)
	for from, deps := range packages {
		if drawn[from] == "" && isPublic(from) {
			t.Errorf("package %s is not drawn", from)
		}
		for _, to := range deps {
			if a, b := drawn[from], drawn[to]; a != "" && b != "" && a != b {
				needs[a][b] = true
			}
		}
	}
	for name := range drawn {
		if _, ok := packages[name]; !ok {
			t.Errorf("package %s is drawn, but not there", name)
		}
	}
	return needs
}
