package requests

// A list has requests by age. A request is in one list at most.
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
