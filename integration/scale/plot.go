package main

import (
	"fmt"
	"image/color"
	"os"
	"runtime"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The picture is 960 × 420 pixels, a pixel being three quarters of a point.
const (
	pictureWidth  = 720 * vg.Inch / 72
	pictureHeight = 315 * vg.Inch / 72
)

// colours of curveWays, told apart without red and green too (Okabe and Ito).
var colours = []color.Color{
	color.RGBA{R: 0x59, G: 0x59, B: 0x59, A: 0xff},
	color.RGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff},
	color.RGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff},
}

// draw draws the curves into a file: p99 and CPU a request, by the rate of requests; with
// all processors as lines, with one as dashes.
func (c *curve) draw(path string) error {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	plotter.DefaultFont = plot.DefaultFont
	latency, err := c.panel("p99 since the request was due, ms", func(m sample) float64 { return m.p99.Seconds() * 1e3 })
	if err != nil {
		return err
	}
	latency.Y.Scale, latency.Y.Tick.Marker = plot.LogScale{}, plot.TickerFunc(doublings)
	latency.Y.Min, latency.Y.Max = min(latency.Y.Min, 0.5), heldP99.Seconds()*1e3 // all that is drawn was held
	cpu, err := c.panel("CPU of the service a request, µs", func(m sample) float64 { return m.cpu.Seconds() * 1e6 })
	if err != nil {
		return err
	}
	cpu.Y.Min = 0
	// One key is enough, where the curves leave room for it: the fixed part of a request's
	// share falls with the rate.
	// On the right, with its text to the right of the lines: fonts differ in width.
	cpu.Legend.Top, cpu.Legend.Left, cpu.Legend.XOffs = true, true, pictureWidth/6
	latency.Legend = plot.NewLegend()

	canvas := vgsvg.New(pictureWidth, pictureHeight)
	whole := onWhite(canvas)
	tiles := draw.Tiles{Rows: 1, Cols: 2, PadX: vg.Points(18), PadTop: vg.Points(6), PadRight: vg.Points(10), PadBottom: vg.Points(4), PadLeft: vg.Points(4)}
	for i, p := range []*plot.Plot{latency, cpu} {
		p.Draw(tiles.At(whole, i, 0))
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err := canvas.WriteTo(f); err != nil {
		_ = f.Close() // the first error is told
		return err
	}
	return f.Close()
}

func onWhite(c *vgsvg.Canvas) draw.Canvas {
	whole := draw.New(c)
	whole.SetColor(color.White)
	whole.Fill(whole.Path())
	return whole
}

// panel is one of the plots.
func (c *curve) panel(label string, of func(sample) float64) (*plot.Plot, error) {
	p := plot.New()
	p.BackgroundColor = color.White
	// Above, not beside: gonum makes room for the label of a logarithmic axis where it is not.
	p.Title.Text, p.Title.TextStyle.Font.Size, p.Title.Padding = label, vg.Points(11), vg.Points(4)
	p.X.Label.Text = "requests/s"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.TickerFunc(doublings)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{Y: 0xe4}, color.Gray{Y: 0xe4}
	p.Add(grid)
	for _, procs := range processors(runtime.NumCPU()) {
		if procs != 1 && procs != runtime.NumCPU() {
			continue
		}
		for i, w := range curveWays {
			points := c.points(c.find(w.name, procs), of)
			if len(points) == 0 {
				continue
			}
			line, dots, err := plotter.NewLinePoints(points)
			if err != nil {
				return nil, fmt.Errorf("drawing %s: %w", w.name, err)
			}
			line.Color, line.Width = colours[i], vg.Points(1.6)
			dots.Color, dots.Shape, dots.Radius = colours[i], draw.CircleGlyph{}, vg.Points(2.2)
			name := w.name
			if procs == 1 && runtime.NumCPU() > 1 {
				line.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
				dots.Shape = draw.RingGlyph{}
			}
			name = fmt.Sprintf("%s, GOMAXPROCS=%d", name, procs)
			p.Add(line, dots)
			p.Legend.Add(name, line, dots)
		}
	}
	p.Legend.TextStyle.Font.Size = vg.Points(9)
	p.Legend.Padding = vg.Points(1.5)
	return p, nil
}

// points are what was held, at the rates that were tried with all and at the highest.
func (c *curve) points(s *subject, of func(sample) float64) (points plotter.XYs) {
	for _, rate := range c.rates() {
		if m, ok := s.at(rate); ok && m.why() == "" {
			points = append(points, plotter.XY{X: float64(rate), Y: of(m)})
		}
	}
	if m, ok := s.heldAt(); ok && len(points) > 0 && float64(m.rate) > points[len(points)-1].X {
		points = append(points, plotter.XY{X: float64(m.rate), Y: of(m)})
	}
	return points
}

// doublings are ticks at 1, 2 and 5 of every power of ten.
func doublings(low, high float64) (ticks []plot.Tick) {
	for power := 0.001; power <= high; power *= 10 {
		for _, digit := range []float64{1, 2, 5} {
			if v := digit * power; v >= low*0.999 && v <= high*1.001 {
				ticks = append(ticks, plot.Tick{Value: v, Label: strings.TrimSuffix(number(v), ".0")})
			}
		}
	}
	return ticks
}
