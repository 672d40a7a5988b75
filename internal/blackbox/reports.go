package blackbox

import "sync"

// maxReports is the number of reports in memory. A report has up to 4 MiB of spans.
const maxReports = 8

// Reports are the newest reports about earlier processes. All methods may be called concurrently.
type Reports struct {
	mu  sync.Mutex
	all []*Report // the newest first
}

// Add adds a report about a process that ended before those of the other reports.
func (r *Reports) Add(report *Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.all) < maxReports {
		r.all = append(r.all, report)
	}
}

// All returns the reports, the newest first. The caller must not change them.
func (r *Reports) All() []*Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[:len(r.all):len(r.all)]
}
