package routes

import (
	"encoding/binary"
	"time"

	"github.com/perfline/perfline/internal/local"
)

// A column counts the requests of a route that ended within some time.
type column struct {
	counts [buckets]uint64
	failed uint64
	max    time.Duration
}

func (c *column) add(root *local.Root) {
	took := root.Took()
	c.counts[bucketOf(took)]++
	if root.Failed {
		c.failed++
	}
	c.max = max(c.max, took)
}

// merge adds the requests of o.
func (c *column) merge(o *column) {
	for bucket, n := range &o.counts {
		c.counts[bucket] += n
	}
	c.failed += o.failed
	c.max = max(c.max, o.max)
}

func (c *column) total() (n uint64) {
	for _, count := range &c.counts {
		n += count
	}
	return n
}

// quantile returns the duration that a share of the requests did not exceed. Within a bucket,
// durations count as evenly spread.
func (c *column) quantile(share float64) time.Duration {
	rank := share * float64(c.total())
	for bucket, n := range &c.counts {
		if n == 0 {
			continue
		}
		if rank > float64(n) {
			rank -= float64(n)
			continue
		}
		from, to := lowerBound(bucket), c.max
		if bucket < buckets-1 {
			to = min(to, lowerBound(bucket+1))
		}
		return from + time.Duration(float64(max(0, to-from))*rank/float64(n))
	}
	return c.max
}

// A packed column is a column that gets no more requests, but late ones. It is empty without
// requests: else the failed ones, the maximum, and then for each bucket with requests the distance
// from the one before and the count, as variable-length integers.
type packed []byte

// addTo adds the requests of p to c.
func (p packed) addTo(c *column) {
	if len(p) == 0 {
		return
	}
	c.failed += p.next()
	c.max = max(c.max, time.Duration(p.next()))
	for bucket := -1; len(p) > 0; {
		bucket += int(p.next())
		c.counts[bucket] += p.next()
	}
}

func (p *packed) next() uint64 {
	n, size := binary.Uvarint(*p)
	*p = (*p)[size:]
	return n
}

// pack packs c into the memory of p.
func (p *packed) pack(c *column) {
	b := (*p)[:0]
	last := -1
	for bucket, n := range &c.counts {
		if n == 0 {
			continue
		}
		if last < 0 {
			b = binary.AppendUvarint(b, c.failed)
			b = binary.AppendUvarint(b, uint64(c.max))
		}
		b = binary.AppendUvarint(b, uint64(bucket-last))
		b = binary.AppendUvarint(b, n)
		last = bucket
	}
	*p = b
}

// merge adds the requests of c.
func (p *packed) merge(c *column) {
	sum := *c
	p.addTo(&sum)
	p.pack(&sum)
}
