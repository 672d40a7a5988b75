package backend

import (
	"context"
	"errors"
	"path/filepath"
)

// StartJaegerOnDisk is [StartJaeger] with a storage that is on disk, Badger in a folder
// of its own, in place of memory: Kill keeps it, and Terminate writes all of it.
func StartJaegerOnDisk(ctx context.Context) (*Jaeger, error) {
	j, err := StartJaeger(ctx)
	if err != nil {
		return nil, err
	}
	keys, values := filepath.Join(j.dir, "keys"), filepath.Join(j.dir, "values")
	// A second configuration, which is merged into the first.
	j.args = append(j.args, "--config", `yaml:
extensions:
  jaeger_storage:
    backends:
      disk:
        badger:
          directories: {keys: "`+keys+`", values: "`+values+`"}
          ephemeral: false
  jaeger_query:
    storage:
      traces: disk
exporters:
  jaeger_storage_exporter:
    trace_storage: disk
`)
	if err := errors.Join(j.Terminate(), j.Start(ctx)); err != nil {
		return nil, errors.Join(err, j.Stop())
	}
	return j, nil
}
