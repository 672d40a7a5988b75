package cpuprof

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"
)

var update = flag.Bool("update", false, "write the golden files of recorded logs")

// A recordedLog is a file that testdata/record has made.
type recordedLog struct {
	reads     []recordedRead
	labels    map[unsafe.Pointer]string
	functions map[uint64]string // by program counter
}

// A recordedRead is what one read of the log returned.
type recordedRead struct {
	step string // the first read of a step has its name
	data []uint64
	tags []unsafe.Pointer
}

func parseLog(t *testing.T, text string) *recordedLog {
	t.Helper()
	l := &recordedLog{labels: map[unsafe.Pointer]string{}, functions: map[uint64]string{}}
	tags := map[string]unsafe.Pointer{"": nil}
	step, symbols := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, rest, _ := strings.Cut(line, " ")
		switch {
		case name == "#":
		case name == "step":
			step = rest
		case name == "symbols":
			symbols = true
		case symbols:
			pc, err := strconv.ParseUint(name, 0, 64)
			if err != nil {
				t.Fatal(err)
			}
			l.functions[pc] = rest
		case name == "read":
			l.reads = append(l.reads, recordedRead{step: step})
			step = ""
		default:
			r := &l.reads[len(l.reads)-1]
			var labels []string
			for field := range strings.FieldsSeq(line) {
				if word, err := strconv.ParseUint(field, 0, 64); err == nil {
					r.data = append(r.data, word)
				} else {
					labels = append(labels, field)
				}
			}
			text := strings.Join(labels, " ")
			if _, known := tags[text]; !known {
				tags[text] = unsafe.Pointer(new(int64))
				l.labels[tags[text]] = text
			}
			r.tags = append(r.tags, tags[text])
		}
	}
	return l
}

// write writes a record in a line: its time since the log began, and all else by name.
func (l *recordedLog) write(b *strings.Builder, r record, began int64) {
	fmt.Fprintf(b, "%v", time.Duration(r.at-began).Round(time.Microsecond))
	if r.lost > 0 {
		fmt.Fprintf(b, " lost %d\n", r.lost)
		return
	}
	fmt.Fprintf(b, " count %d", r.count)
	if r.tag != nil {
		fmt.Fprintf(b, " {%s}", l.labels[r.tag])
	}
	before, times := "", 0
	for i, pc := range r.stack {
		name := l.functions[pc]
		if name == "" {
			name = "unknown"
		}
		if times++; name != before || i == 0 {
			fmt.Fprintf(b, " %s", name)
			before, times = name, 1
		}
		if last := i == len(r.stack)-1 || l.functions[r.stack[i+1]] != name; last && times > 1 {
			fmt.Fprintf(b, " ×%d", times)
		}
	}
	fmt.Fprintf(b, " (%d)\n", len(r.stack))
}

func recordedLogs(t *testing.T) map[string]*recordedLog {
	t.Helper()
	files, err := filepath.Glob("testdata/*.log")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d recorded logs, error %v, want one for each supported release", len(files), err)
	}
	all := map[string]*recordedLog{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(file, ".log")] = parseLog(t, string(text))
	}
	return all
}

// Logs that the runtime wrote are decoded as their golden files have it: samples with labels and
// without, deep stacks, samples of threads that are not Go's, and lost samples.
func TestRecordedLogs(t *testing.T) {
	for name, l := range recordedLogs(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			var d decoder
			var got strings.Builder
			began := int64(l.reads[0].data[1])
			for _, r := range l.reads {
				if r.step != "" {
					fmt.Fprintf(&got, "# %s\n", r.step)
				}
				dropped, err := d.decode(r.data, r.tags, func(r record) { l.write(&got, r, began) })
				if dropped > 0 || err != nil {
					t.Errorf("%d records dropped: %v", dropped, err)
				}
			}
			if d.hz != 250 {
				t.Errorf("the rate is %d, want 250", d.hz)
			}
			if *update {
				if err := os.WriteFile(name+".golden", []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(name + ".golden")
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != string(want) {
				t.Errorf("got\n%s\nwant\n%s", &got, want)
			}
		})
	}
}

// A read that is cut has the whole records before the cut, and the others are counted.
func TestCutLogs(t *testing.T) {
	for name, l := range recordedLogs(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			header := l.reads[0]
			for i, r := range l.reads[1:] {
				whole := countRecords(t, header, r)
				for words := range len(r.data) {
					var d decoder
					if _, err := d.decode(header.data[:3], header.tags[:1], func(record) {}); err != nil {
						t.Fatal(err)
					}
					n, atWord := 0, 0
					dropped, err := d.decode(r.data[:words], r.tags, func(r record) {
						n++
						atWord += 3 + len(r.stack) + min(r.lost, 1)
					})
					if n+dropped != whole && n+dropped != n+1 || atWord > words || err == nil || dropped == 0 {
						t.Fatalf("read %d, cut after %d words: %d records of %d words, %d dropped of %d, error %v", i+1, words, n, atWord, dropped, whole, err)
					}
				}
			}
		})
	}
}

func countRecords(t *testing.T, header, r recordedRead) (n int) {
	t.Helper()
	var d decoder
	count := func(record) { n++ }
	if _, err := d.decode(slices.Concat(header.data[:3], r.data), slices.Concat(header.tags[:1], r.tags), count); err != nil {
		t.Fatal(err)
	}
	return n
}
