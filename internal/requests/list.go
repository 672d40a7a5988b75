package requests

import "slices"

// A list links requests by age. A request is in one list at most.
type list struct {
	oldest, newest *request
	len            int
}

func (l *list) push(q *request) {
	q.older = l.newest
	if q.older == nil {
		l.oldest = q
	} else {
		q.older.newer = q
	}
	l.newest = q
	l.len++
}

func (l *list) remove(q *request) {
	if q.older == nil {
		l.oldest = q.newer
	} else {
		q.older.newer = q.newer
	}
	if q.newer == nil {
		l.newest = q.older
	} else {
		q.newer.older = q.older
	}
	q.older, q.newer = nil, nil
	l.len--
}

// A fifo is a short or rarely changed list of requests, the oldest first.
type fifo []*request

// oldest returns the oldest request, or nil.
func (f fifo) oldest() *request {
	if len(f) == 0 {
		return nil
	}
	return f[0]
}

// oldestBy returns the index of the oldest request for which is returns true, or -1.
func (f fifo) oldestBy(is func(*request) bool) int { return slices.IndexFunc(f, is) }

// take removes the request at an index.
func (f *fifo) take(i int) *request {
	q := (*f)[i]
	*f = slices.Delete(*f, i, i+1)
	return q
}

// newestFirst calls each for each request. It stops and returns false when each returns false.
func (f *fifo) newestFirst(each func(*request) bool) bool {
	for _, q := range slices.Backward(*f) {
		if !each(q) {
			return false
		}
	}
	return true
}
