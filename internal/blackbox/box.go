package blackbox

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/perfline/perfline/internal/modules"
	"github.com/perfline/perfline/internal/record/mirror"
)

// The names of the files of a process: prefix, process id, random part, and one of the suffixes.
const (
	prefix      = "perfline-"
	boxSuffix   = ".blackbox"
	crashSuffix = ".crash" // the last words of the Go runtime
	exitSuffix  = ".exit"  // how the process ended, from its parent: see NoteExit
)

// The times between two heartbeats.
const (
	busyBeat = 100 * time.Millisecond // while requests are open or come
	idleBeat = 5 * time.Second
	slowFact = time.Second // for the memory of the control group
)

// Config configures [Open].
type Config struct {
	Dir     string // made if absent
	Service string
	// Resource is the encoded resource of the spans.
	Resource []byte
	Origin   time.Time        // of the process timeline
	Self     func() uint64    // the id of the calling goroutine, or 0
	Failed   func(error)      // called once when the file fails; must not block
	Now      func() time.Time // nil means time.Now
}

// A Box is the black box of a living process. All methods may be called concurrently.
type Box struct {
	c      Config
	name   string // of the file
	file   *os.File
	memory *mirror.Memory
	region *mirror.Region
	spool  *mirror.Spool
	facts  Facts
	timer  *time.Timer

	mu       sync.Mutex // guards the fields below
	status   Status
	slowAt   time.Duration // when slow facts were read
	countsAt time.Duration
	count    func() []Count
}

// Open makes the file of a process in a directory.
func Open(c Config) (_ *Box, err error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	if !utf8.ValidString(c.Dir) {
		return nil, fmt.Errorf("the directory %q: must be UTF-8", c.Dir)
	}
	if c.Dir, err = filepath.Abs(c.Dir); err != nil { // the program may change its directory
		return nil, err
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, err
	}
	if err := refuse(c.Dir); err != nil {
		return nil, err
	}
	base := filepath.Join(c.Dir,
		fmt.Sprintf("%s%d-%08x", prefix, os.Getpid(), rand.Uint32())) //nolint:gosec // no secret
	b := &Box{c: c, name: base + boxSuffix}
	if b.file, err = create(b.name); err != nil {
		return nil, err
	}
	var mem []byte
	defer func() {
		if err != nil {
			if mem != nil {
				unmap(mem)
			}
			_ = (&File{b.name, b.file}).Remove()
		}
	}()
	if mem, err = mapFile(b.file, size); err != nil {
		return nil, fmt.Errorf("%s, of %d MiB: %w", b.name, size>>20, err)
	}
	words, err := os.OpenFile(base+crashSuffix, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	err = debug.SetCrashOutput(words, debug.CrashOptions{})
	_ = words.Close() // the runtime has a copy
	if err != nil {
		return nil, err
	}
	b.memory = mirror.NewMemory(mem, b.failed)
	runtime.AddCleanup(b.memory, unmap, mem)
	b.timer = time.AfterFunc(time.Hour, b.beat)
	b.region = mirror.NewRegion(b.memory, slotsAt, larges, smalls, c.Self,
		func() { b.timer.Reset(busyBeat) })
	b.spool = mirror.NewSpool(b.memory, spoolAt, spoolSize)
	root := os.DirFS("/")
	b.facts = Facts{Version: version, PID: os.Getpid(), Boot: bootID(), Started: c.Now(),
		Origin: c.Origin, Program: program(), Main: modules.Read().Main(), Service: c.Service,
		Resource: c.Resource, Group: memoryGroup(root)}
	facts := encode(b.facts, factsSize-len(magic))
	if facts == nil { // the resource is too large
		b.facts.Resource = nil
		facts = encode(b.facts, factsSize-len(magic))
	}
	b.memory.Write(len(magic), facts)
	b.memory.Write(0, []byte(magic))
	b.beat()
	return b, nil
}

func program() string {
	name, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return name
}

// Region returns the place of the open requests.
func (b *Box) Region() *mirror.Region { return b.region }

// Spool returns the place of the finished spans.
func (b *Box) Spool() *mirror.Spool { return b.spool }

// SetCounts sets a function that returns the newest counts. The box calls it every five seconds.
func (b *Box) SetCounts(count func() []Count) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count = count
}

// Name returns the absolute name of the box's file.
func (b *Box) Name() string { return b.name }

// beat writes the status, and schedules the next heartbeat.
func (b *Box) beat() {
	b.write(false)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.memory.Closed() {
		return
	}
	b.timer.Reset(idleBeat) // first: a request that begins from now on sets a shorter time
	if _, idle := b.region.Idle(); !idle {
		b.timer.Reset(busyBeat)
	}
}

// lost returns an error if the file is no longer in its directory.
func (b *Box) lost() error {
	own, err := b.file.Stat()
	if err != nil {
		return err
	}
	now, err := os.Stat(b.name)
	if err == nil && !os.SameFile(own, now) {
		return errors.New("another file has the name")
	}
	return err
}

// failed reports the fault that has ended all writes. The file goes, because it would describe an
// earlier moment.
func (b *Box) failed(why error) {
	b.c.Failed(fmt.Errorf("%s: %w", b.name, why))
	go func() {
		if b.lost() == nil {
			_ = removeFiles(b.name)
		}
	}()
}

// write writes the status.
func (b *Box) write(ended bool) {
	now := b.c.Now()
	since := now.Sub(b.c.Origin)
	b.mu.Lock()
	count := b.count
	slow := since-b.slowAt >= slowFact || b.status.Beat == 0
	counts := count != nil && (since-b.countsAt >= idleBeat || ended || b.countsAt == 0)
	b.mu.Unlock()
	var newest []Count
	if counts {
		newest = count() // without the lock: the counts ask many parts
	}
	if slow {
		if err := b.lost(); err != nil { // the next process would not find the file
			b.memory.Fail(fmt.Errorf("the file was removed: %w", err))
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.memory.Closed() {
		return
	}
	s := &b.status
	s.Beat++
	s.At, s.Since, s.Ended = now.Round(0), int64(since), ended
	if counts {
		s.Counts, b.countsAt = newest, since
	}
	if slow {
		s.Memory, b.slowAt = readMemory(os.DirFS("/"), b.facts.Group), since
	}
	part := encode(s, statusSize)
	for part == nil && len(s.Counts) > 0 { // too many counts
		s.Counts = s.Counts[:len(s.Counts)/2]
		part = encode(s, statusSize)
	}
	b.memory.Write(statusAt+int(s.Beat%2)*statusSize, part) //nolint:gosec // 0 or 1
	if ended {
		b.memory.Close()
	}
}

// Close notes that the process ends well, and leaves the file to the next process. The memory stays
// mapped while any goroutine can reach a slot or the spool.
func (b *Box) Close() error {
	b.write(true)
	b.memory.Close()
	b.timer.Stop()
	return errors.Join(unlock(b.file), b.file.Close())
}
