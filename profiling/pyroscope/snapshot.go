package pyroscope

import (
	"bytes"

	"github.com/google/pprof/profile"

	"github.com/perfline/perfline/internal/continuous"
)

// maxWhole is the compressed size up to which a profile is sent unchanged. A larger profile may
// exceed the server's limits, which apply to uncompressed profiles.
const maxWhole = 128 << 10

// encodeRuntime returns the profiles to send for a profile of the runtime: none if it is empty.
func encodeRuntime(r continuous.Runtime, fit fitter) ([][]byte, error) {
	data := r.Data
	if r.Kind == continuous.Goroutine || r.Kind == continuous.Leak {
		var err error
		if data, err = goroutines(data, fit); err != nil {
			return nil, err
		}
	}
	switch {
	case len(data) == 0:
		return nil, nil
	case len(data) <= maxWhole:
		return [][]byte{data}, nil
	}
	p, err := profile.ParseData(data)
	if err != nil {
		return nil, err
	}
	return encode(p)
}

// goroutines returns a profile of goroutines for the server, or nothing if there are none. Its
// samples have the labels of CPU samples without ids: each id would make a separate sample, and
// readers look for groups of goroutines.
func goroutines(data []byte, fit fitter) ([]byte, error) {
	p, err := profile.ParseData(data)
	if err != nil || len(p.Sample) == 0 {
		return nil, err
	}
	fit.spanIDs, fit.traceIDs = false, false
	fit.fit(p)
	plain := bytes.Buffer{}
	// Compact joins samples that have become equal.
	if err := p.Compact().WriteUncompressed(&plain); err != nil {
		return nil, err
	}
	return compress(plain.Bytes())
}
