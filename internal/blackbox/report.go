package blackbox

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/record/mirror"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/text"
)

// The bounds of a report.
const (
	maxOpen   = 200     // open requests with their spans
	maxRoutes = 20      // names of open requests
	maxBytes  = 4 << 20 // of the spans
	maxName   = 100     // bytes of a name in a sentence
	maxRoute  = 60      // bytes of a name in a line
	maxWhole  = 10      // open requests with a waterfall in a text
	columns   = 100     // characters of a line of a text
)

// A Report says what a process did when it died. Its texts may have any characters: escape them.
type Report struct {
	Service string // or the name of the program
	PID     int
	Kind    Kind
	Started time.Time // when the process made its file
	Last    time.Time // the last sign of life
	Crash   *Crash    // nil if the Go runtime said nothing
	Words   string    // the Go runtime's text, at most 64 KiB
	Exit    string    // how the process ended, as its parent noted, or ""
	Memory  Memory    // of the control group, at the last heartbeat

	Routes   []Route       // the open requests by name
	Open     []OpenRequest // the one that crashed, and then the oldest, at most 200
	Total    int           // open requests in the file
	LeftOut  uint64        // open requests without room in the file, since the process started
	Finished int           // finished spans in the file, which no backend has taken
	Lost     uint64        // finished spans without room in the file, since the process started
	Counts   []Count       // the newest counts of the process
}

// A Route is a name of open requests.
type Route struct {
	Name   string
	N      int
	Oldest time.Duration // how long the oldest one had been open
}

// An OpenRequest is a request that was open when the process died.
type OpenRequest struct {
	requests.Snapshot // ended at the last sign of life

	For     time.Duration // from the start of the request to the last sign of life
	In      string        // the innermost span that was open, or ""
	InFor   time.Duration // how long that span had been open
	Crashed bool          // the goroutine that crashed worked for the request
	LeftOut int           // older entries without room in the file
}

// Report returns the report about a process.
func (d *Death) Report() *Report {
	f, s := &d.Facts, &d.Status
	r := &Report{
		// without the words of OpenTelemetry for a service without a name
		Service: cmp.Or(strings.TrimPrefix(f.Service, "unknown_service:"),
			filepath.Base(f.Program)),
		PID: f.PID, Kind: d.Kind,
		Started: f.Started, Last: d.Last, Crash: d.Crash, Words: d.Words, Exit: d.Exit,
		Memory: s.Memory, LeftOut: d.LeftOut, Lost: d.Overwritten, Counts: s.Counts,
	}
	for i := range d.Items {
		r.Finished += d.Items[i].Spans
	}
	var open []*mirror.Request
	for i := range d.Open {
		if q := &d.Open[i]; !q.Ended || d.crashedIn(q) {
			open = append(open, q)
		}
	}
	slices.SortStableFunc(open, func(a, b *mirror.Request) int {
		if x, y := d.crashedIn(a), d.crashedIn(b); x != y {
			return map[bool]int{true: -1, false: 1}[x]
		}
		return cmp.Compare(a.Start, b.Start)
	})
	r.Total = len(open)
	r.addRoutes(d, open)
	store := requests.NewRecent(requests.Config{Requests: maxOpen, Background: maxOpen,
		Slowest: -1, KeptRequests: -1, Examples: -1, MaxPending: maxOpen, MaxBytes: 16 * maxBytes})
	group := d.group()
	for _, q := range open[:min(len(open), maxOpen)] {
		spans := d.spansOf(q, false)
		store.Accept([]bridge.Spans{bridge.Spans(spans.encode(group))})
		shot, ok := store.Snapshot(spans.root.TraceID, spans.root.SpanID)
		if !ok {
			continue
		}
		o := OpenRequest{Snapshot: shot.Clone(), For: max(0, d.Last.Sub(d.Time(q.Start))),
			Crashed: d.crashedIn(q), LeftOut: q.LeftOut}
		for i := range q.Entries {
			if e := &q.Entries[i]; e.Kind == mirror.Open {
				o.In, o.InFor = e.Name, max(0, d.Last.Sub(d.Time(e.Start)))
			}
		}
		r.Open = append(r.Open, o)
	}
	return r
}

// addRoutes counts the open requests by name.
func (r *Report) addRoutes(d *Death, open []*mirror.Request) {
	at := map[string]int{}
	for _, q := range open {
		name := pathOf(q)
		i, ok := at[name]
		if !ok {
			i = len(r.Routes)
			at[name] = i
			r.Routes = append(r.Routes, Route{Name: name})
		}
		r.Routes[i].N++
		r.Routes[i].Oldest = max(r.Routes[i].Oldest, d.Last.Sub(d.Time(q.Start)))
	}
	slices.SortStableFunc(r.Routes, func(a, b Route) int { return cmp.Compare(b.N, a.N) })
	r.Routes = r.Routes[:min(len(r.Routes), maxRoutes)]
}

// Sentence says in one sentence how the process ended, and for which request.
func (r *Report) Sentence() string {
	return fmt.Sprintf("%s (process %d) %s", text.Line(r.Service, maxName), r.PID, r.ending())
}

// ending returns the sentence without its subject.
func (r *Report) ending() string {
	exit := text.Line(r.Exit, maxName)
	switch r.Kind {
	case Ended:
		return "ended well"
	case Panic, FatalError, Signal:
		what := "died of a " + string(r.Kind)
		if r.Crash.Message != "" {
			what += ", " + text.Line(r.Crash.Message, maxName)
		}
		if place := r.Crash.Place(); place != "" {
			what += ", in " + text.Line(place, 2*maxName)
		}
		if len(r.Open) > 0 && r.Open[0].Crashed {
			what += ", while it served " + text.Line(r.Open[0].Name, maxName)
		}
		return what
	case MemoryLimit:
		if r.Memory.Limit > 0 {
			return fmt.Sprintf("was killed at the memory limit of its control group, %d MiB",
				r.Memory.Limit>>20)
		}
		return "was killed at the memory limit of its control group"
	case Restarted:
		return "ended with its machine, or its file comes from another machine"
	case Killed:
		return fmt.Sprintf("was killed (%s)", exit)
	case Exited:
		return fmt.Sprintf("exited without Shutdown (%s)", exit)
	case Gone:
	}
	what := "was killed, or exited without Shutdown: the exit code tells which, 137 means killed"
	if m := r.Memory; m.Limit > 0 && m.Used > m.Limit/100*95 {
		what += fmt.Sprintf("; its control group used %d of %d MiB of memory", m.Used>>20,
			m.Limit>>20)
	}
	return what
}

// OpenByRoute returns the open requests by name, such as "7 GET /items/{id}, 2 GET /slow".
func (r *Report) OpenByRoute() string {
	var all []string
	n := 0
	for _, route := range r.Routes {
		all = append(all, fmt.Sprintf("%d %s", route.N, text.Line(route.Name, maxName)))
		n += route.N
	}
	if n < r.Total {
		all = append(all, fmt.Sprintf("%d others", r.Total-n))
	}
	return strings.Join(all, ", ")
}

// WriteText writes the report as text of 100 columns, and escapes names and values. The report has
// the sentence, the open requests by name, and the first ten open requests as waterfalls. Each
// other open request has one line. The text of the Go runtime comes last, with all its columns.
func (r *Report) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w) // which remembers the error of w
	fmt.Fprintln(b, wrap(r.Sentence()))
	fmt.Fprintf(b, "last sign of life %s, %s after its start\n\n",
		r.Last.UTC().Format("2006-01-02 15:04:05.000Z"),
		r.Last.Sub(r.Started).Round(time.Millisecond))
	r.writeRoutes(b)
	whole := r.Open[:min(len(r.Open), maxWhole)]
	for i := range whole {
		var waterfall strings.Builder
		_ = requests.WriteWaterfall(&waterfall, whole[i].Request(), nil) // no error of a Builder
		head, rest, _ := strings.Cut(waterfall.String(), "\n")
		fmt.Fprintf(b, "\n%s\n", head)
		if note := whole[i].note(); note != "" {
			fmt.Fprintln(b, wrap(note))
		}
		fmt.Fprint(b, rest)
	}
	if len(r.Open) > len(whole) {
		fmt.Fprintf(b, "\n%s in one line each:\n",
			count(len(r.Open)-len(whole), "other request", "other requests"))
	}
	for i := range r.Open[len(whole):] {
		o := &r.Open[len(whole)+i]
		name := text.Line(o.Name, maxName)
		if o.In != "" {
			name += ", in " + text.Line(o.In, maxName)
		}
		const width = columns - 9 - 2 - 2 - 32 // beside the time and the id of the trace
		fmt.Fprintf(b, "%9s  %s  %s\n", text.Duration(o.For), column(name, width), o.TraceID)
	}
	if more := r.Total - len(r.Open); more > 0 {
		fmt.Fprintf(b, "… and %s\n", count(more, "open request", "open requests"))
	}
	if len(r.Counts) > 0 {
		fmt.Fprintln(b)
		var all []string
		for _, c := range r.Counts {
			all = append(all, fmt.Sprintf("%d %s", c.N, text.Line(c.What, maxName)))
		}
		fmt.Fprintln(b, wrap("perfline counted "+strings.Join(all, ", ")))
	}
	if r.Words != "" {
		fmt.Fprintln(b, "\nthe Go runtime's last words:")
		for line := range strings.Lines(r.Words) {
			fmt.Fprintln(b, text.Escape(strings.TrimRight(line, "\n"), "\t"))
		}
	}
	return b.Flush()
}

// writeRoutes writes the open requests by name, and what the file has no room for.
func (r *Report) writeRoutes(b *bufio.Writer) {
	if r.Total == 0 {
		fmt.Fprintln(b, "no request was open")
	} else {
		fmt.Fprintf(b, "%s open:\n", count(r.Total, "request was", "requests were"))
	}
	rest := r.Total
	for _, route := range r.Routes {
		rest -= route.N
		fmt.Fprintf(b, "%6d  %s  (the oldest for %s)\n", route.N,
			text.Line(route.Name, maxRoute), text.Duration(route.Oldest))
	}
	if rest > 0 {
		fmt.Fprintf(b, "%6d  with other names\n", rest)
	}
	line := func(n uint64, one, many string) {
		if n > 0 {
			fmt.Fprintln(b, count(n, one, many))
		}
	}
	line(r.LeftOut, "open request had no room in the file",
		"open requests had no room in the file")
	line(uint64(max(0, r.Finished)), "finished span waited for the backend",
		"finished spans waited for the backend")
	line(r.Lost, "finished span had no room in the file",
		"finished spans had no room in the file")
}

// note says in a line what the waterfall of the request cannot say, or returns "".
func (o *OpenRequest) note() string {
	var all []string
	if o.Crashed {
		all = append(all, "the goroutine that crashed served this request")
	}
	if o.In != "" {
		all = append(all, fmt.Sprintf("%s was open for %s", text.Line(o.In, maxName),
			text.Duration(o.InFor)))
	}
	if o.LeftOut > 0 {
		all = append(all, count(o.LeftOut, "older entry had", "older entries had")+
			" no room in the file")
	}
	return strings.Join(all, "; ")
}

// wrap breaks a text into lines of 100 columns.
func wrap(s string) string {
	var b strings.Builder
	at := 0
	for i, word := range strings.Split(s, " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+n > columns:
			b.WriteByte('\n')
			at = 0
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}

// column cuts or pads a text to a number of characters.
func column(s string, n int) string {
	if r := []rune(s); len(r) > n {
		s = string(r[:n-1]) + "…"
	}
	return s + strings.Repeat(" ", n-utf8.RuneCountInString(s))
}

func count[T int | uint64](n T, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
