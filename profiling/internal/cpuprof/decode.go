package cpuprof

import (
	"errors"
	"fmt"
	"math"
	"unsafe"
)

// A record is an entry of the log: a sample, or a number of lost samples.
type record struct {
	at    int64          // by sampling.Now, not before the previous record
	count int            // at least 1; 0 if lost is not
	stack []uint64       // innermost first; part of the data that was read
	tag   unsafe.Pointer // the goroutine's labels
	lost  int
}

// A decoder decodes the successive reads of one log.
//
// The words of a record are its length, its time, its count and its stack. The first record is the
// header, with the rate as its count. A record with count 0 and a stack of one word gives the
// number of samples for which the log was full. The time is 0 for samples of threads that are not
// Go's, which enter the log later.
type decoder struct {
	hz   int // 0 before the header
	last int64
}

// decode calls each for the records of one read. It stops at malformed data, and returns how many
// records were dropped, as far as is known.
func (d *decoder) decode(data []uint64, tags []unsafe.Pointer, each func(record)) (dropped int,
	err error) {
	for len(data) > 0 {
		if err := d.check(data, len(tags)); err != nil {
			return max(1, len(tags)), err
		}
		length, at, count, tag := data[0], int64(data[1]), int(data[2]), tags[0]
		stack := data[3:length]
		data, tags = data[length:], tags[1:]
		d.last = max(d.last, at)
		switch {
		case d.hz == 0:
			d.hz = count
		case count == 0:
			each(record{at: d.last, lost: int(stack[0])})
		default:
			each(record{at: d.last, count: count, stack: stack, tag: tag})
		}
	}
	if len(tags) > 0 {
		return len(tags), fmt.Errorf("%d tags more than records", len(tags))
	}
	return 0, nil
}

// check returns an error if the first record of data is malformed.
func (d *decoder) check(data []uint64, tags int) error {
	const most = math.MaxInt32 // of a count: the runtime's own counters have 32 bits
	switch {
	case tags == 0:
		return errors.New("a record without a tag")
	case len(data) < 3:
		return fmt.Errorf("a record of %d words: it has at least 3", len(data))
	case data[0] < 3 || data[0] > uint64(len(data)):
		return fmt.Errorf("a record of %d words where there are 3 to %d", data[0], len(data))
	case data[1] > math.MaxInt64:
		return fmt.Errorf("a record of time %#x", data[1])
	case data[2] > most:
		return fmt.Errorf("a record that counts %d: at most %d", data[2], most)
	case d.hz == 0 && (data[0] != 3 || data[2] == 0):
		return fmt.Errorf("a header of %d words with rate %d: must have 3", data[0], data[2])
	case d.hz != 0 && data[2] == 0 && (data[0] != 4 || data[3] == 0 || data[3] > most):
		return fmt.Errorf("a record of %d words that counts nothing: must have 4, the last 1 to %d",
			data[0], most)
	}
	return nil
}
