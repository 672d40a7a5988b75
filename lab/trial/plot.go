package main

import (
	"bytes"
	"fmt"
	"image/color"
	"os"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The picture, of whose inches a browser makes 96 pixels each.
const (
	width  = 10 * vg.Inch
	height = width * 5 / 12
)

var colours = map[string]color.RGBA{
	jaegerName:    {0xd9, 0x8c, 0x1a, 0xff},
	collectorName: {0x8a, 0x5a, 0xc2, 0xff},
	pyroscopeName: {0xc2, 0x3b, 0x3b, 0xff},
}

// drawSVG writes the picture of the series with the faults shaded, a lane for each
// component above the lines.
func drawSVG(file string, samples []sample, episodes []episode, length time.Duration) error {
	p := plot.New()
	p.Title.Text = "A service's memory while its backends fail"
	p.X.Label.Text = "minutes"
	p.Y.Label.Text = "MiB"
	p.X.Min, p.X.Max = 0, length.Minutes()
	memory, heap := make(plotter.XYs, len(samples)), make(plotter.XYs, len(samples))
	most := 0.0
	for i, s := range samples {
		memory[i] = plotter.XY{X: s.at.Minutes(), Y: float64(s.memory) / (1 << 20)}
		heap[i] = plotter.XY{X: s.at.Minutes(), Y: float64(s.heap) / (1 << 20)}
		most = max(most, memory[i].Y)
	}
	// Above the lines there is room for the legend, and above that for the lanes.
	p.Y.Min, p.Y.Max = 0, most*1.65
	lanes := faultLanes{episodes: episodes, bottom: most * 1.25, top: p.Y.Max,
		style: p.X.Tick.Label}
	var lines []plot.Plotter
	for _, l := range []struct {
		name string
		of   plotter.XYs
		c    color.Color
	}{
		{"memory the runtime has of the system", memory, color.RGBA{0x1f, 0x5f, 0xa8, 0xff}},
		{"live heap", heap, color.RGBA{0x1c, 0x80, 0x4b, 0xff}},
	} {
		line, err := plotter.NewLine(l.of)
		if err != nil {
			return fmt.Errorf("drawing %s: %w", l.name, err)
		}
		line.Color, line.Width = l.c, 1.2
		lines = append(lines, line)
		p.Legend.Add(l.name, line)
	}
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.XOffs, p.Legend.YOffs = 4, -height*0.21 // below the lanes
	p.BackgroundColor = color.White
	for style, size := range map[*text.Style]vg.Length{
		&p.Title.TextStyle: 11, &p.Legend.TextStyle: 9, &lanes.style: 8,
		&p.X.Label.TextStyle: 10, &p.Y.Label.TextStyle: 10, &p.X.Tick.Label: 9, &p.Y.Tick.Label: 9,
	} {
		style.Font.Variant, style.Font.Size = "Sans", size
	}
	p.Add(lanes)
	p.Add(lines...) // over the lanes' shades
	canvas := vgsvg.New(width, height)
	// or half of the last tick's label is outside
	p.Draw(draw.Crop(draw.New(canvas), 2, -14, 2, -4))
	var picture bytes.Buffer
	if _, err := canvas.WriteTo(&picture); err != nil {
		return err
	}
	// Where that font is not, one like it, and not the browser's own with serifs.
	named := bytes.ReplaceAll(picture.Bytes(), []byte("font-family:Liberation Sans;"),
		[]byte("font-family:Liberation Sans,Arial,sans-serif;"))
	return os.WriteFile(file, named, 0o644)
}

// faultLanes shade the time of each episode, lightly over all of the height, and name it in
// the lane of its component.
type faultLanes struct {
	episodes    []episode
	bottom, top float64 // of all lanes, in the unit of the axis
	style       text.Style
}

var _ plot.Plotter = faultLanes{}

// Plot draws them.
func (f faultLanes) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	box := func(from, to vg.Length, bottom, top float64, fill color.Color) {
		c.FillPolygon(fill, []vg.Point{{X: from, Y: y(bottom)}, {X: to, Y: y(bottom)},
			{X: to, Y: y(top)}, {X: from, Y: y(top)}})
	}
	style := f.style
	style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
	lane := (f.top - f.bottom) / float64(len(randomComponents))
	for i, name := range randomComponents {
		bottom := f.bottom + float64(len(randomComponents)-1-i)*lane
		colour := colours[name]
		for _, e := range f.episodes {
			if e.component != name {
				continue
			}
			from, to := x(e.begin.Minutes()), x(e.end().Minutes())
			light := colour
			light = color.RGBA{blend(light.R, 0.08), blend(light.G, 0.08), blend(light.B, 0.08),
				0xff}
			box(from, to, 0, f.bottom, light)
			box(from, to, bottom+lane*0.08, bottom+lane*0.92,
				color.RGBA{blend(colour.R, 0.3), blend(colour.G, 0.3), blend(colour.B, 0.3), 0xff})
			style.Color = color.Black
			c.FillText(style, vg.Point{X: (from + to) / 2, Y: y(bottom + lane/2)}, string(e.kind))
		}
		style.Color = colour
		left := style
		left.XAlign = draw.XLeft
		c.FillText(left, vg.Point{X: c.Min.X + 2, Y: y(bottom + lane/2)}, name)
	}
}

// blend is a colour's part on white.
func blend(part uint8, share float64) uint8 { return uint8(255 - share*float64(255-part)) }
