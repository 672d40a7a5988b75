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

// The times of a history, and its length.
const (
	Every      = 5 * time.Second // from one sample to the next
	MaxSamples = 60              // samples

	// A program sleeps if each of so many samples in a row has less CPU time than this. A timer
	// every 5 s would wake up a program that does nothing else.
	sleepSamples = 6
	sleepCPU     = 0.01 // of a processor

	asleepEvery = time.Minute // from one sample to the next while the program sleeps
)

// Config configures [Start]. The zero value has the runtime's figures alone.
type Config struct {
	// Counts returns perfline's own counts. It must not call the history. nil means none.
	Counts func() []exporter.Count

	Read func([]metrics.Sample) // nil means metrics.Read
	// CPU time of the process, 0 if that is not known; nil means the system's clock
	CPUTime func() time.Duration
}

// A History has the last samples.
type History struct {
	started time.Time
	reader  reader // for one sample at a time
	counter counter

	sampling sync.WaitGroup // has the timer's next call, until it ends or is stopped

	mu      sync.Mutex // guards what follows
	idle    int        // samples in a row with less than sleepCPU, since the history was read
	samples []Sample   // a ring when it is full: the oldest is at next
	next    int
	timer   *time.Timer
	stopped bool
}

// Start begins a history. Its first sample comes at once, from another goroutine.
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

// Stop ends the history and waits for a sample that is being taken. Samples stays readable. Further
// calls do nothing.
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

// Samples returns the samples of the five minutes before the last one, the oldest first. The next
// sample comes within 5 s.
func (h *History) Samples() []Sample { return h.After(time.Time{}) }

// After returns those of the samples that are after t.
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
		s.Losses = slices.Clone(s.Losses) // the next samples reuse its memory
		all = append(all, s)
	}
	return all
}

// at returns the i-th sample, from the oldest. h.mu is held.
func (h *History) at(i int) *Sample { return &h.samples[(h.next+i)%len(h.samples)] }

// sample takes one.
func (h *History) sample() {
	defer h.sampling.Done()
	// also if a function of the Config panics or ends the goroutine: there is no sample then
	defer h.again()
	record.Protect(func() {
		s := h.reader.read(time.Now())
		losses := h.counter.read(&s)
		h.mu.Lock()
		defer h.mu.Unlock()
		slot := h.slot()
		s.Losses = slot.Losses[:0]
		s.Losses = append(s.Losses, losses...)
		*slot = s
		if s.CPU.Process < sleepCPU { // not if it is not known
			h.idle++
		} else {
			h.idle = 0
		}
	})
}

// again starts the timer for the next sample.
func (h *History) again() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped {
		return
	}
	h.sampling.Add(1)
	h.timer.Reset(h.untilNext())
}

// untilNext returns the time until the next sample. The times do not drift. h.mu is held.
func (h *History) untilNext() time.Duration {
	every := Every
	if h.idle >= sleepSamples {
		every = asleepEvery
	}
	return every - time.Since(h.started)%every
}

// slot returns the place of a new sample, with the memory of the one that it replaces. h.mu is
// held.
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
