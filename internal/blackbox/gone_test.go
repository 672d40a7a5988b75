package blackbox

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record/mirror"
)

// Only regular files with the name of a box are boxes, the newest one first.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"perfline-1-0.crash", "perfline-1-0.exit", "perfline-1-0.blackbox.new", "perfline-x-0.blackbox", "perfline-1-xyz.blackbox", "perfline-1.blackbox", "notes.blackbox", "perfline-.blackbox"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "perfline-2-0.blackbox"), 0o700); err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 5 {
		name := boxFile(t, dir, nil)
		at := time.Unix(int64(1000*i), 0)
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
		want = append([]string{name}, want...)
	}
	if err := os.Symlink(want[0], filepath.Join(dir, "perfline-3-0.blackbox")); err != nil && runtime.GOOS != "windows" {
		t.Fatal(err)
	}
	if names, err := Find(dir); !slices.Equal(names, want) || err != nil {
		t.Errorf("found %q, %v; want %q", names, err, want)
	}
	if _, err := Find(filepath.Join(dir, "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an absent directory: %v", err)
	}
}

// Files that are not boxes of this version are neither read nor changed. The error says why.
func TestReadsNoOtherFiles(t *testing.T) {
	b := openBox(t, t.TempDir(), nil)
	begin(b, "GET /")
	ours := must(os.ReadFile(b.name))
	facts := func(f Facts) []byte {
		part := append([]byte(magic), encode(f, factsSize)...)
		return append(part, ours[len(part):]...)
	}
	torn := slices.Clone(ours)
	torn[len(magic)+partHead+2]++
	for _, c := range []struct {
		name, want string
		file       []byte
	}{
		{"empty", "its process ended in Start", nil},
		{"zeros", "its process ended in Start", make([]byte, size)},
		{"text", "no black box of perfline", []byte("notes of an admin")},
		{"short text", "no black box of perfline", []byte("x")},
		{"only the magic", "no black box of perfline", []byte(magic)},
		{"half of the magic", "no black box of perfline", []byte(magic[:5])},
		{"torn facts", "no black box of perfline", torn},
		{"the next version", "has version 2, and this program reads version 1", facts(Facts{Version: 2})},
		{"cut", "has 40000 bytes and must have 8388608", ours[:40_000]},
		{"cut in the facts", "no black box of perfline", ours[:100]},
		{"longer", "has 8388609 bytes and must have 8388608", append(slices.Clone(ours), 0)},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := boxFile(t, t.TempDir(), c.file)
			f, err := Take(name)
			if err != nil || f == nil {
				t.Fatal(f, err)
			}
			defer f.Close()
			d, err := f.Read()
			if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("read %v, %v; want the name and %q", d, err, c.want)
			}
			if Unfinished(err) != (c.name == "empty" || c.name == "zeros") {
				t.Errorf("unfinished is %t", Unfinished(err))
			}
			if check := f.Check(); (check == nil) != (c.name == "cut" || c.name == "longer") || check != nil && check.Error() != err.Error() {
				t.Errorf("Check says %v, and Read %v", check, err)
			}
			if !bytes.Equal(must(os.ReadFile(name)), c.file) {
				t.Error("the file was changed")
			}
		})
	}
}

// The files beside a box are read only if they are plain files: a pipe would hang, and a link may lead to a secret.
func TestReadsNoLinks(t *testing.T) {
	b := openBox(t, t.TempDir(), nil)
	name := died(t, b)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("panic: the password"), 0o600); err != nil {
		t.Fatal(err)
	}
	base := strings.TrimSuffix(name, boxSuffix)
	for _, suffix := range []string{crashSuffix, exitSuffix} {
		if err := os.Symlink(secret, base+suffix); err != nil && runtime.GOOS != "windows" {
			t.Fatal(err)
		}
	}
	f, d := take(t, name)
	if d.Words != "" || d.Exit != "" || d.Crash != nil {
		t.Errorf("read %q and %q", d.Words, d.Exit)
	}
	if err := f.Remove(); err != nil {
		t.Error(err)
	}
	if text := must(os.ReadFile(secret)); len(text) == 0 || len(must(os.ReadDir(filepath.Dir(name)))) > 0 {
		t.Error("Remove has removed the secret, or left a file")
	}
}

// Of processes that start at once, exactly one takes each file.
func TestTakenOnce(t *testing.T) {
	b := openBox(t, t.TempDir(), nil)
	dir := filepath.Dir(died(t, b))
	for range 30 {
		boxFile(t, dir, must(os.ReadFile(b.name)))
	}
	names := must(Find(dir))
	var taken [31]atomic.Int32
	var wg sync.WaitGroup
	start := make(chan bool)
	for starter := range 8 {
		wg.Go(func() {
			<-start
			for i, name := range names {
				f, err := Take(name)
				if err != nil {
					t.Error(err)
				}
				if f == nil {
					continue
				}
				if _, err := f.Read(); err != nil {
					t.Error(err)
				}
				taken[i].Add(1)
				if starter%2 > 0 && i%3 == 0 { // one that keeps the file for longer
					defer func() { _ = f.Remove() }()
				} else if err := f.Remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	close(start)
	wg.Wait()
	for i := range taken {
		if n := taken[i].Load(); n != 1 {
			t.Errorf("file %d was taken %d times", i, n)
		}
	}
	if left := must(os.ReadDir(dir)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// A child that outlives its process does not keep the file of the process.
func TestChildKeepsNoFile(t *testing.T) {
	dir := t.TempDir()
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), role+"=parent", home+"="+dir)
	stdin, err := parent.StdinPipe() // of the child, too
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	if state, err := parent.Process.Wait(); err != nil || !state.Success() {
		t.Fatal(state, err)
	}
	names := must(Find(dir))
	if len(names) != 1 {
		t.Fatalf("found %q", names)
	}
	if _, d := take(t, names[0]); d.Kind != Gone || d.Facts.PID != parent.Process.Pid {
		t.Errorf("the kind is %s, of process %d", d.Kind, d.Facts.PID)
	}
}

// A process that starts and ends the black box again and again keeps one file, and its memory.
func TestLoop(t *testing.T) {
	dir := t.TempDir()
	for i := range 50 {
		b := openBox(t, dir, nil)
		for _, name := range must(Find(dir)) {
			f, err := Take(name)
			if f == nil || err != nil {
				continue // the newest one
			}
			if d, err := f.Read(); err != nil || d.Kind != Ended || d.Open[0].Name != fmt.Sprint("GET /", i-1) {
				t.Fatal(d, err)
			}
			if err := f.Remove(); err != nil {
				t.Fatal(err)
			}
		}
		begin(b, fmt.Sprint("GET /", i))
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if names := must(os.ReadDir(dir)); len(names) != 2 {
			t.Fatalf("round %d leaves %v", i, names)
		}
	}
}

// The last sign of life and the times of entries follow the clock of the newest heartbeat, whatever the clock did before.
func TestClockSteps(t *testing.T) {
	const hour = int64(time.Hour)
	started := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	slots, open := openSlot()
	open.Begin(&mirror.Head{Trace: mirror.TraceID{1}, Span: mirror.SpanID{2}, Kind: 2, Name: "GET /", Start: time.Hour - time.Second})
	open.Write(&mirror.Entry{Kind: mirror.Mark, Name: "now", Start: time.Hour + 50*time.Millisecond})
	for _, c := range []struct {
		name string
		at   time.Time
	}{
		{"no step", started.Add(time.Hour)},
		{"forward", started.Add(24 * time.Hour)},
		{"back, to before the start", started.Add(-24 * time.Hour)},
	} {
		d := &Death{Facts: Facts{Version: version, Started: started, Origin: started}}
		d.decode(encode(Status{Beat: 7, At: c.at, Since: hour}, statusSize), encode(Status{Beat: 6, At: started, Since: 0}, statusSize), slots, nil)
		if want := c.at.Add(50 * time.Millisecond); !d.Last.Equal(want) {
			t.Errorf("%s: the last sign of life is %v, want %v", c.name, d.Last, want)
		}
		r := d.Report()
		if len(r.Open) != 1 || r.Open[0].For != time.Second+50*time.Millisecond || r.Routes[0].Oldest != r.Open[0].For {
			t.Errorf("%s: open is %+v", c.name, r.Open)
		}
	}
}

// The program may choose the times of entries. Such times do not move the last sign of life.
func TestEntriesOfOtherTimes(t *testing.T) {
	slots, open := openSlot()
	open.Begin(&mirror.Head{Name: "GET /"})
	for _, at := range []time.Duration{time.Hour, 1 << 62, -1 << 62, -time.Hour, 90 * time.Millisecond} {
		open.Write(&mirror.Entry{Kind: mirror.Measure, Name: "chosen", Start: at, Duration: time.Millisecond})
	}
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	d := &Death{Facts: Facts{Version: version, Started: at, Origin: at}}
	d.decode(encode(Status{Beat: 1, At: at}, statusSize), nil, slots, nil)
	if want := at.Add(91 * time.Millisecond); !d.Last.Equal(want) {
		t.Errorf("the last sign of life is %v, want %v", d.Last, want)
	}
}

// The reader takes the newest status that is complete.
func TestTornStatus(t *testing.T) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	older, newer := encode(Status{Beat: 6, At: at}, statusSize), encode(Status{Beat: 7, At: at.Add(time.Second)}, statusSize)
	for cut := range newer {
		d, torn := &Death{}, append(slices.Clone(newer[:cut]), older[min(cut, len(older)):]...)
		d.decode(torn, older, nil, nil)
		if d.Status.Beat != 6 && !bytes.Equal(torn, newer) {
			t.Fatalf("cut at %d: heartbeat %d", cut, d.Status.Beat)
		}
	}
	d := &Death{}
	d.decode(newer, older, nil, nil)
	if d.Status.Beat != 7 || !d.Last.Equal(at.Add(time.Second)) {
		t.Errorf("heartbeat %d", d.Status.Beat)
	}
}

// openSlot returns the memory of the first slot of a file, and the slot.
func openSlot() ([]byte, *mirror.Slot) {
	slots := make([]byte, mirror.LargeSlot+mirror.RegionTail)
	return slots, mirror.NewRegion(mirror.NewMemory(slots, func(error) {}), 0, 1, 0, nobody, func() {}).Take()
}

// FuzzDecodeFile reads any facts, statuses, slots, spools and words, and reports them.
func FuzzDecodeFile(f *testing.F) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	facts := encode(Facts{Version: version, Started: at, Origin: at, Service: "shop"}, factsSize)[partHead:]
	status := encode(Status{Beat: 3, At: at, Since: 5, Counts: []Count{{"spans", 1}}}, statusSize)[partHead:]
	f.Add([]byte("notes"), status, []byte("GET /\x00\x01\x02"), []byte("item"), "panic: x\n\ngoroutine 1 [running]:\nmain.f()\n\t/a.go:1", uint16(0), byte(0))
	f.Add(append([]byte(magic), facts...), status, []byte("\x01GET /\x02k=v\x03"), []byte("\x0a\x04\x12\x02\x12\x00"), "", uint16(9), byte(1))
	f.Add(facts, []byte("{}"), []byte(strings.Repeat("\x04name\x00\xff", 30)), []byte{}, "fatal error: x", uint16(5000), byte(0x80))
	f.Fuzz(func(t *testing.T, facts, status, program, item []byte, words string, flip uint16, bits byte) {
		_, _ = decodeFile(facts) // short: a whole file is too slow
		d := &Death{Words: words, Exit: words[:min(len(words), maxExit)]}
		if json := part(facts); !decode(json, &d.Facts) {
			d.Facts = Facts{Version: version, Service: words}
		}
		slots, spool := make([]byte, mirror.LargeSlot+mirror.RegionTail), make([]byte, 1024)
		write(program, slots, spool, item)
		for _, b := range [][]byte{slots, spool} {
			if int(flip) < len(b) {
				b[flip] ^= bits
			}
		}
		d.decode(part(status), status, slots, spool)
		d.Crash = readCrash(d.Words, d.Facts.Main)
		d.Kind = kindOf(d, Memory{}, "boot")
		r := d.Report()
		if r.Total != len(d.Open) && !d.Open[0].Ended || len(r.Open) > r.Total || len(r.Sentence()) == 0 {
			t.Errorf("%d of %d requests", len(r.Open), len(d.Open))
		}
		var text bytes.Buffer
		if err := r.WriteText(&text); err != nil || strings.ContainsAny(text.String(), "\x1b\x00\r") {
			t.Errorf("%v, %q", err, text.String())
		}
		for _, it := range d.Exported() {
			if it.Spans < 1 || it.Spans > 20 || it.Taken >= len(slots) {
				t.Errorf("%+v", it)
			}
		}
	})
}

// part returns a part of a file with a JSON text.
func part(json []byte) []byte {
	b := make([]byte, partHead, partHead+len(json))
	order.PutUint32(b, uint32(len(json)))
	order.PutUint32(b[4:], crc32.Checksum(json, table))
	return append(b, json...)
}

// write writes what a program does to memory: any entries with any texts and times.
func write(program, slots, spool, item []byte) {
	s := mirror.NewRegion(mirror.NewMemory(slots, func(error) {}), 0, 1, 0, func() uint64 { return uint64(len(item)) }, func() {}).Take()
	next := func(n int) []byte {
		n = min(n, len(program))
		b := program[:n]
		program = program[n:]
		return b
	}
	number := func() time.Duration {
		var b [8]byte
		copy(b[:], next(8))
		return time.Duration(order.Uint64(b[:]))
	}
	one := func() byte { return append(next(1), 0)[0] }
	s.Attributes().Text(string(next(3)), string(next(9)))
	s.Begin(&mirror.Head{Trace: mirror.TraceID{one()}, Span: mirror.SpanID{one()}, Parent: mirror.SpanID{one()}, Kind: one(), Flags: mirror.Flags(one()), Start: number(), Name: string(next(int(one())))})
	for len(program) > 0 {
		switch kind := mirror.Kind(one() % 8); kind {
		case 0:
			s.Route(string(next(int(one()))))
		case 5:
			s.End(number(), mirror.Flags(one()))
		case 6:
			s.EndSpan(mirror.SpanID{one()})
		default:
			s.Attributes().Text(string(next(3)), string(next(int(one()))))
			s.Write(&mirror.Entry{Kind: kind, Flags: mirror.Flags(one()), Span: mirror.SpanID{one()}, Parent: mirror.SpanID{one()}, Start: number(), Duration: number(), Name: string(next(int(one())))})
		}
	}
	p := mirror.NewSpool(mirror.NewMemory(spool, func(error) {}), 0, len(spool))
	p.Begin()
	defer p.Commit()
	p.Put(uint64(len(item)), nil, item)
}
