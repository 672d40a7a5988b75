package routes

import (
	"encoding/binary"
	"time"

	"github.com/perfline/perfline/internal/local"
)

// columnStep is the period of a column in the last minutes.
const columnStep = 10 * time.Second

// A column is the histogram of the requests of a route that ended in one period.
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

func (c *column) merge(other *column) {
	for bucket, n := range &other.counts {
		c.counts[bucket] += n
	}
	c.failed += other.failed
	c.max = max(c.max, other.max)
}

func (c *column) total() (n uint64) {
	for _, count := range &c.counts {
		n += count
	}
	return n
}

// quantile returns the duration that a share of the requests did not exceed. quantile interpolates
// linearly within a bucket. A single request in the bucket of the maximum is the maximum.
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
		if n == 1 && bucket == bucketOf(c.max) {
			return c.max
		}
		if bucket < buckets-1 {
			to = min(to, lowerBound(bucket+1))
		}
		return from + time.Duration(float64(max(0, to-from))*rank/float64(n))
	}
	return c.max
}

// A packed column stores a column in few bytes. A column without requests takes none. Any other
// column is a list of variable-length integers: the failed requests, the maximum, and for each
// bucket with requests its distance from the bucket before and its count.
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

// pack encodes c into the memory of p.
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

// merge adds the requests of c to p.
func (p *packed) merge(c *column) {
	sum := *c
	p.addTo(&sum)
	p.pack(&sum)
}
