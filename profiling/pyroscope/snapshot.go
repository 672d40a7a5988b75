package pyroscope

import (
	"bytes"

	"github.com/google/pprof/profile"

	"github.com/perfline/perfline/profiling/internal/continuous"
)

// maxWhole is the size, compressed, up to which a profile is sent as it is. A larger one may exceed
// the server's limits, which are of uncompressed profiles.
const maxWhole = 128 << 10

// encodeRuntime returns the profiles to send of one of the runtime's: none if it is empty.
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

// goroutines returns a profile of goroutines as the server takes it, and nothing if there are none.
// Its samples have labels like CPU samples, except for ids: each id would make a sample of its own,
// and readers look for groups of goroutines.
func goroutines(data []byte, fit fitter) ([]byte, error) {
	p, err := profile.ParseData(data)
	if err != nil || len(p.Sample) == 0 {
		return nil, err
	}
	fit.spanIDs, fit.traceIDs = false, false
	fit.fit(p)
	plain := bytes.Buffer{}
	// joins samples that have become equal
	if err := p.Compact().WriteUncompressed(&plain); err != nil {
		return nil, err
	}
	return compress(plain.Bytes())
}
