package repository_test

import (
	"cmp"
	"fmt"
	"html"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// roles are the colours of packages, in the order of the legend.
var roles = []struct{ name, fill, stroke string }{
	{"records", "#e7f5ff", "#1c7ed6"},
	{"OpenTelemetry", "#f3f0ff", "#7048e8"},
	{"profiles", "#fff4e6", "#e8590c"},
	{"shows and sends", "#ebfbee", "#2f9e44"},
	{"puts together", "#f1f3f5", "#495057"},
}

// drawn says in which column of docs/architecture.svg a package is, its role and its purpose. Its
// layer comes from its imports, and is not below floor.
var drawn = map[string]struct {
	column int
	role   string
	what   string
	floor  int
}{
	"observer":               {2, "records", "for its users", 0},
	"observer/record":        {2, "records", "the timeline's engine: bounded buffers and journals", 0},
	"observer/observertest":  {4, "records", "for tests of others", 0},
	"marks":                  {0, "records", "Mark, Time, Start", 0},
	"bridge":                 {1, "OpenTelemetry", "spans", 0},
	"bridge/bridgehttp":      {0, "OpenTelemetry", "HTTP", 5}, // above bridgegrpc
	"bridge/bridgegrpc":      {0, "OpenTelemetry", "gRPC", 0},
	"bridge/bridgelog":       {1, "OpenTelemetry", "log records", 6},         // above the exporter, to which its data goes
	"bridge/bridgetest":      {0, "OpenTelemetry", "for tests of others", 6}, // above bridgehttp
	"profiling":              {3, "profiles", "the sampler", 0},
	"profiling/profile":      {3, "profiles", "data and formats", 0},
	"profiling/spanlabels":   {2, "profiles", "goroutines' spans", 2},
	"profiling/pyroscope":    {4, "profiles", "pushes profiles", 0},
	"profiling/sessions":     {3, "profiles", "trees of events", 0},
	"profiling/service":      {5, "profiles", "serves sessions", 0},
	"profiling/states":       {4, "profiles", "goroutines' states", 3},
	"profiling/flight":       {3, "profiles", "why it was slow", 5},
	"exporter":               {1, "shows and sends", "OTLP", 4}, // imports nothing that is drawn
	"exporter/otlpenc":       {5, "shows and sends", "spans, logs: bytes", 1},
	"exporter/requests":      {2, "shows and sends", "recent, slowest", 3},
	"exporter/routes":        {0, "shows and sends", "counts by route", 1},
	"exporter/runtimestats":  {2, "shows and sends", "runtime's figures", 0},
	"exporter/viewers":       {4, "shows and sends", "files", 0},
	"exporter/live":          {4, "shows and sends", "the page", 0},
	"guard":                  {5, "shows and sends", "who may see pages", 2},
	"perfline":               {2, "puts together", "Start, Shutdown", 0},
	"profiling/otlpprofiles": {3, "profiles", "over OTLP", 6},
}

// outside are what data comes from and goes to, at a column and a layer.
var outside = map[string]struct{ column, layer float64 }{
	"your code":     {-0.9, 1},
	"gRPC":          {-0.9, 3},
	"HTTP":          {-0.9, 4},
	"Go's runtime":  {4, 1},
	"Pyroscope":     {5, 3},
	"OTLP backends": {1, 5},
	"programs":      {5.9, 4},
	"browsers":      {5, 6},
}

// flows is the data's way. Interfaces and function calls carry it, so that imports do not tell its direction: the
// table does. Points in between, of columns and layers, lead around boxes.
var flows = []struct {
	from, to string
	via      [][2]float64
}{
	{"your code", "marks", nil},
	{"marks", "observer", nil},
	{"HTTP", "bridge/bridgehttp", nil},
	{"gRPC", "bridge/bridgegrpc", nil},
	{"bridge/bridgehttp", "bridge", nil},
	{"bridge/bridgegrpc", "bridge", nil},
	{"bridge", "observer", [][2]float64{{1.28, 0.5}}}, // requests, calls, spans of others
	{"observer", "bridge", nil},
	{"bridge", "profiling/spanlabels", nil}, // which span a goroutine works for
	{"profiling/spanlabels", "profiling", nil},
	{"bridge", "exporter", nil},
	{"bridge", "exporter/requests", [][2]float64{{1.15, 1.5}, {1.75, 1.5}}},
	{"exporter", "OTLP backends", nil},
	{"profiling", "exporter/requests", nil},
	{"exporter/requests", "exporter/live", nil},
	{"exporter/viewers", "exporter/live", nil},
	{"exporter/runtimestats", "exporter/live", nil},
	{"exporter/live", "browsers", nil},
	{"Go's runtime", "profiling", nil},
	{"profiling", "profiling/pyroscope", nil},
	{"profiling/pyroscope", "Pyroscope", nil},
	{"profiling", "profiling/otlpprofiles", [][2]float64{{3.53, 3.4}, {3.53, 5.6}}},
	{"profiling/otlpprofiles", "OTLP backends", nil},
	{"profiling", "profiling/sessions", nil},
	{"Go's runtime", "profiling/flight", nil},
	{"profiling/flight", "exporter/requests", nil},
	{"observer", "profiling/sessions", [][2]float64{{3.47, 0.5}, {3.47, 2.4}}},
	{"profiling/sessions", "profiling/service", nil},
	{"profiling/service", "programs", nil},
	{"profiling/sessions", "exporter/viewers", nil},
}

// docs/architecture.md has all packages that others can import, and the files that it names are there.
func TestArchitectureNamesWhatIsThere(t *testing.T) {
	atRoot(t)
	text := read(t, "docs/architecture.md")
	for name := range publicImports(t) {
		if !strings.Contains(string(text), "\n| `"+name+"` |") {
			t.Errorf("its table lacks package %s", name)
		}
	}
	for _, file := range regexp.MustCompile("`([a-z0-9_/]+(?:\\.go|/[a-z0-9_]+))`").FindAllStringSubmatch(string(text), -1) {
		if _, err := os.Stat(file[1]); err != nil {
			t.Errorf("it names %s: %v", file[1], err)
		}
	}
}

// docs/architecture.svg shows the packages and what they import.
func TestArchitectureDocumented(t *testing.T) {
	atRoot(t)
	imports := publicImports(t)
	for name := range imports {
		if _, ok := drawn[name]; !ok {
			t.Errorf("package %s is not in the table of those that are drawn: say where", name)
		}
	}
	for name := range drawn {
		if _, ok := imports[name]; !ok {
			t.Errorf("package %s is drawn, but not there", name)
		}
	}
	for _, f := range flows {
		for _, end := range []string{f.from, f.to} {
			_, isDrawn := drawn[end]
			if _, isOutside := outside[end]; !isDrawn && !isOutside {
				t.Errorf("the flow from %s to %s: %s is not drawn", f.from, f.to, end)
			}
		}
	}
	if !t.Failed() {
		documented(t, "docs/architecture.svg", "", drawArchitecture(t, imports))
	}
}

// publicImports returns the packages of this module that others can import, each with its imports among
// them, direct ones and ones through a package that others cannot import. It leaves out an import that follows from another one.
func publicImports(t *testing.T) map[string][]string {
	t.Helper()
	direct := map[string][]string{}
	for entry := range strings.Lines(list(t, "", `{{.ImportPath}} {{join .Imports " "}}`, packages...)) {
		names := strings.Fields(entry)
		for i, name := range names {
			names[i] = strings.TrimPrefix(name, module+"/")
		}
		if names[0] == module {
			names[0] = "perfline"
		}
		direct[names[0]] = names[1:]
	}
	hidden := func(name string) bool {
		return strings.HasPrefix(name, "internal/") || strings.Contains(name, "/internal/") || strings.Contains(name, "/profilerv1")
	}
	var reach func(from string, all map[string]bool)
	reach = func(from string, all map[string]bool) {
		for _, to := range direct[from] {
			if _, own := direct[to]; own && !all[to] {
				all[to] = true
				reach(to, all)
			}
		}
	}
	public := map[string][]string{}
	for from := range direct {
		if hidden(from) {
			continue
		}
		public[from] = nil
		needs := map[string]bool{}
		reach(from, needs)
		maps.DeleteFunc(needs, func(name string, _ bool) bool { return hidden(name) })
		for to := range needs {
			others := map[string]bool{}
			for other := range needs {
				if other != to {
					reach(other, others)
				}
			}
			if !others[to] {
				public[from] = append(public[from], to)
			}
		}
		slices.Sort(public[from])
	}
	return public
}

// Measures of the picture, in pixels.
const (
	archWidth, archHeight = 1050, 650
	archColumn, archLayer = 142, 96
	archLeft, archTop     = 167, 36 // the middle of the first column and of the highest layer
	archBox, archBoxHigh  = 116, 52
	archPill, archLetter  = 26, 6.4 // how high what is outside is, and how wide each letter of it
	archBeside            = 9       // how far lines of imports and of data between the same two are from the middle
)

// A place is the middle of what is drawn and half of its extent.
type place struct{ x, y, w, h float64 }

func drawArchitecture(t *testing.T, imports map[string][]string) string {
	t.Helper()
	layers := map[string]int{}
	var layer func(name string) int
	layer = func(name string) int {
		if _, ok := layers[name]; !ok {
			layers[name] = drawn[name].floor
			for _, to := range imports[name] {
				layers[name] = max(layers[name], layer(to)+1)
			}
		}
		return layers[name]
	}
	highest := 0
	for name := range imports {
		highest = max(highest, layer(name))
	}
	x := func(column float64) float64 { return archLeft + archColumn*column }
	y := func(layer float64) float64 { return archTop + archLayer*(float64(highest)-layer) }
	places := map[string]place{}
	taken := map[[2]int]string{}
	for name, d := range drawn {
		p := place{x(float64(d.column)), y(float64(layers[name])), archBox / 2, archBoxHigh / 2}
		if layers[name] == 0 { // everything rests upon it
			p.w += 2 * archColumn
		}
		places[name] = p
		at := [2]int{d.column, layers[name]}
		if other := taken[at]; other != "" {
			t.Errorf("%s and %s are both in column %d and layer %d: move one", other, name, d.column, layers[name])
		}
		taken[at] = name
	}
	for name, o := range outside {
		places[name] = place{x(o.column), y(o.layer), (archLetter*float64(len(name)) + 16) / 2, archPill / 2}
	}

	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="system-ui,sans-serif" font-size="11" text-anchor="middle">`+"\n",
		archWidth, archHeight, archWidth, archHeight)
	fmt.Fprintln(&b, `<title>The packages of perfline, what they import, and the way of the data</title>`)
	fmt.Fprintln(&b, `<defs>`+
		`<marker id="i" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path d="M1 1L7 4L1 7" fill="none" stroke="#868e96"/></marker>`+
		`<marker id="d" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="11" markerHeight="11" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L10 5L0 10z" fill="#d6336c"/></marker>`+
		`</defs><rect width="100%" height="100%" fill="#fff"/>`)
	const importing = `fill="none" stroke="#adb5bd" stroke-width="1.2" marker-end="url(#i)"`
	const flowing = `fill="none" stroke="#d6336c" stroke-width="2" stroke-linejoin="round" marker-end="url(#d)"`
	beside := func(a, b string) float64 { // where both kinds of lines are between two
		for _, f := range flows {
			if len(f.via) == 0 && (f.from == a && f.to == b || f.from == b && f.to == a) {
				return archBeside
			}
		}
		return 0
	}
	for _, from := range slices.Sorted(maps.Keys(imports)) {
		for _, to := range imports[from] {
			drawLine(&b, importing, places[from], places[to], nil, -beside(from, to))
		}
	}
	for _, f := range flows {
		var via [][2]float64
		for _, p := range f.via {
			via = append(via, [2]float64{x(p[0]), y(p[1])})
		}
		imported := slices.Contains(imports[f.from], f.to) || slices.Contains(imports[f.to], f.from)
		off := 0.0
		if imported && len(via) == 0 {
			off = archBeside
		}
		drawLine(&b, flowing, places[f.from], places[f.to], via, off)
	}
	for _, name := range slices.Sorted(maps.Keys(drawn)) {
		p, d := places[name], drawn[name]
		at := slices.IndexFunc(roles, func(r struct{ name, fill, stroke string }) bool { return r.name == d.role })
		fmt.Fprintf(&b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="5" fill="%s" stroke="%s"/>`, p.x-p.w, p.y-p.h, 2*p.w, 2*p.h, roles[at].fill, roles[at].stroke)
		parent, base := path.Split(name)
		top := p.y - 3
		if parent != "" {
			top = p.y + 2
			fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" font-size="10" fill="#868e96">%s</text>`, p.x, p.y-13, parent)
		}
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" font-size="13" font-weight="bold">%s</text>`, p.x, top, base)
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" fill="#495057">%s</text>`+"\n", p.x, top+16, html.EscapeString(d.what))
	}
	for _, name := range slices.Sorted(maps.Keys(outside)) {
		p := places[name]
		fmt.Fprintf(&b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="%.1f" fill="#fff" stroke="#868e96" stroke-dasharray="3 2"/>`, p.x-p.w, p.y-p.h, 2*p.w, 2*p.h, p.h)
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" fill="#495057">%s</text>`+"\n", p.x, p.y+4, html.EscapeString(name))
	}
	drawLegend(&b, y(0)+archBoxHigh/2+34, importing, flowing)
	fmt.Fprintln(&b, "</svg>")
	return b.String()
}

// drawLine draws from one place to another: from side to side where they are side by side, else from above
// or below. beside is how far it is from the middle.
func drawLine(b *strings.Builder, style string, from, to place, via [][2]float64, beside float64) {
	next, last := [2]float64{to.x, to.y}, [2]float64{from.x, from.y}
	switch {
	case len(via) > 0:
		next, last = via[0], via[len(via)-1]
	case from.w > archBox: // a wide one is met straight
		last[0] = to.x
		next[0] = to.x
	case to.w > archBox:
		last[0] = from.x
		next[0] = from.x
	}
	points := append(append([][2]float64{edge(from, next, beside)}, via...), edge(to, last, beside))
	b.WriteString(`<path d="`)
	for i, p := range points {
		fmt.Fprintf(b, "%s%.1f %.1f", [...]string{"M", "L"}[min(i, 1)], p[0], p[1])
	}
	fmt.Fprintf(b, `" %s/>`+"\n", style)
}

// edge is where a line between p and a point begins or ends.
func edge(p place, at [2]float64, beside float64) [2]float64 {
	if dy := at[1] - p.y; dy != 0 {
		aside := max(-0.75*p.w, min(0.75*p.w, (at[0]-p.x)*0.4))
		if at[0]-p.x <= p.w && p.x-at[0] <= p.w { // a point above or below is met straight
			aside = at[0] - p.x
		}
		return [2]float64{p.x + aside + beside, p.y + p.h*float64(cmp.Compare(dy, 0))}
	}
	return [2]float64{p.x + p.w*float64(cmp.Compare(at[0], p.x)), p.y}
}

func drawLegend(b *strings.Builder, y float64, importing, flowing string) {
	x := 20.0
	label := func(text string) {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="start" fill="#495057">%s</text>`+"\n", x, y+4, text)
		x += 6*float64(len(text)) + 22
	}
	for _, r := range roles {
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="14" height="14" rx="3" fill="%s" stroke="%s"/>`, x, y-7, r.fill, r.stroke)
		x += 20
		label(r.name)
	}
	for _, l := range []struct{ style, text string }{{flowing, "the way of data"}, {importing, "imports"}} {
		fmt.Fprintf(b, `<path d="M%.1f %.1fh30" %s/>`, x, y, l.style)
		x += 36
		label(l.text)
	}
}
