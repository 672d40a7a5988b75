package runtimestats

import (
	"runtime/metrics"
	"slices"
	"sync"
	"time"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/cputime"
	"github.com/perfline/perfline/internal/record"
)

// The interval and the length of a history.
const (
	Every      = 5 * time.Second // the interval of samples
	MaxSamples = 60

	// A program sleeps after sleepSamples samples in a row with less CPU time than sleepCPU. A
	// timer every 5 s would wake the program up.
	sleepSamples  = 6
	sleepCPU      = 0.01        // of a processor
	sleepInterval = time.Minute // of samples while the program sleeps
)

// Config configures [Start]. With the zero value, samples contain only the runtime's figures.
type Config struct {
	// Counts returns the counts of perfline. Counts must not call the history. nil means no counts.
	Counts func() []exporter.Count
	// Read reads the runtime's metrics. nil means metrics.Read.
	Read func([]metrics.Sample)
	// CPUTime returns the CPU time of the process, or 0 if unknown. nil means the system's clock.
	CPUTime func() time.Duration
}

// A History stores the most recent samples.
type History struct {
	started time.Time
	reader  reader // for one sample at a time
	counter counter

	sampling sync.WaitGroup // counts the timer's next call, until its end or Stop

	mu      sync.Mutex // guards the following fields
	idle    int        // samples in a row with less than sleepCPU, since the last After
	samples []Sample   // a ring when full: the oldest sample is at next
	next    int
	timer   *time.Timer
	stopped bool
}

// Start starts a history. A new goroutine records the first sample at once.
func Start(c Config) *History {
	if c.Read == nil {
		c.Read = metrics.Read
	}
	if c.CPUTime == nil {
		c.CPUTime = cputime.Process
	}
	h := &History{started: time.Now(), reader: newReader(c), counter: counter{counts: c.Counts}}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sampling.Add(1)
	h.timer = time.AfterFunc(0, h.sample)
	return h
}

// Stop ends the history, and waits for a sample in progress. Stored samples stay readable. Stop may
// be called several times.
func (h *History) Stop() {
	h.mu.Lock()
	if !h.stopped {
		h.stopped = true
		if h.timer.Stop() {
			h.sampling.Done()
		}
	}
	h.mu.Unlock()
	h.sampling.Wait()
}

// Samples returns the samples of the five minutes before the last sample, the oldest first. The
// next sample follows within 5 s.
func (h *History) Samples() []Sample { return h.After(time.Time{}) }

// After returns the samples after t, the oldest first. After omits samples of more than five
// minutes before the last sample.
func (h *History) After(t time.Time) []Sample {
	h.mu.Lock()
	defer h.mu.Unlock()
	asleep := h.idle >= sleepSamples
	h.idle = 0
	if asleep && h.timer.Stop() {
		h.timer.Reset(h.untilNext())
	}
	n := 0
	for ; n < len(h.samples); n++ {
		s, last := h.at(len(h.samples)-1-n), h.at(len(h.samples)-1)
		if !s.At.After(t) || last.At.Sub(s.At) >= MaxSamples*Every {
			break
		}
	}
	if n == 0 {
		return nil
	}
	all := make([]Sample, 0, n)
	for i := len(h.samples) - n; i < len(h.samples); i++ {
		s := *h.at(i)
		s.Losses = slices.Clone(s.Losses) // later samples reuse the memory
		all = append(all, s)
	}
	return all
}

// at returns the i-th sample, from the oldest. h.mu is locked.
func (h *History) at(i int) *Sample { return &h.samples[(h.next+i)%len(h.samples)] }

// sample takes a sample, unless a function of the Config panics or ends the goroutine.
func (h *History) sample() {
	defer h.sampling.Done()
	defer h.schedule()
	record.Protect(func() {
		s := h.reader.read(time.Now())
		losses := h.counter.read(&s)
		h.mu.Lock()
		defer h.mu.Unlock()
		slot := h.slot()
		s.Losses = slot.Losses[:0]
		s.Losses = append(s.Losses, losses...)
		*slot = s
		if s.CPU.Process < sleepCPU { // false for NaN
			h.idle++
		} else {
			h.idle = 0
		}
	})
}

func (h *History) schedule() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped {
		return
	}
	h.sampling.Add(1)
	h.timer.Reset(h.untilNext())
}

// untilNext returns the time until the next sample. The intervals do not drift. h.mu is locked.
func (h *History) untilNext() time.Duration {
	every := Every
	if h.idle >= sleepSamples {
		every = sleepInterval
	}
	return every - time.Since(h.started)%every
}

// slot returns the place of a new sample, with the memory of the replaced sample. h.mu is locked.
func (h *History) slot() *Sample {
	if len(h.samples) < MaxSamples {
		if h.samples == nil {
			h.samples = make([]Sample, 0, MaxSamples)
		}
		h.samples = append(h.samples, Sample{})
		return &h.samples[len(h.samples)-1]
	}
	slot := &h.samples[h.next]
	h.next = (h.next + 1) % MaxSamples
	return slot
}
