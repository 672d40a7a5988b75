package pyroscope

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"time"

	"github.com/google/pprof/profile"
)

// Limits of one profile. The server refuses a profile beyond its own limits: 16,000 samples, 4 MB
// uncompressed, and the 2 MB that its rate limit allows in a burst.
const (
	maxSamples = 8000
	maxBytes   = 3 << 19
)

// encode returns p in pprof's format, split into as many profiles as the limits require.
func encode(p *profile.Profile) ([][]byte, error) {
	var parts [][]byte
	todo := [][]*profile.Sample{p.Sample}
	for len(todo) > 0 {
		samples := todo[0]
		todo = todo[1:]
		n := min(len(samples), maxSamples)
		if n < len(samples) {
			todo = append([][]*profile.Sample{samples[:n], samples[n:]}, todo...)
			continue
		}
		// The server keeps one profile of a series for each millisecond, and drops others as
		// copies.
		delay := time.Duration(len(parts)) * time.Millisecond
		var plain bytes.Buffer
		if err := part(p, samples, delay).WriteUncompressed(&plain); err != nil {
			return parts, fmt.Errorf("pyroscope: encoding a profile of %d samples: %w", n, err)
		}
		if plain.Len() > maxBytes && n > 1 {
			todo = append([][]*profile.Sample{samples[:n/2], samples[n/2:]}, todo...)
			continue
		}
		data, err := compress(plain.Bytes())
		if err != nil {
			return parts, err
		}
		parts = append(parts, data)
	}
	return parts, nil
}

// part returns a profile of some of p's samples with their locations and functions. Its time is
// delay after p's.
func part(p *profile.Profile, samples []*profile.Sample, delay time.Duration) *profile.Profile {
	if len(samples) == len(p.Sample) {
		return p
	}
	q := &profile.Profile{
		SampleType: p.SampleType, PeriodType: p.PeriodType, Period: p.Period,
		TimeNanos: p.TimeNanos + int64(delay), DurationNanos: p.DurationNanos,
		Mapping: p.Mapping, Sample: samples,
	}
	locations, functions := map[*profile.Location]bool{}, map[*profile.Function]bool{}
	for _, s := range samples {
		for _, l := range s.Location {
			if locations[l] {
				continue
			}
			locations[l] = true
			q.Location = append(q.Location, l)
			for _, line := range l.Line {
				if line.Function != nil && !functions[line.Function] {
					functions[line.Function] = true
					q.Function = append(q.Function, line.Function)
				}
			}
		}
	}
	return q
}

// compress returns plain in gzip's format at the lowest CPU cost.
func compress(plain []byte) ([]byte, error) {
	var to bytes.Buffer
	w, err := gzip.NewWriterLevel(&to, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(plain); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return bytes.Clone(to.Bytes()), nil
}
