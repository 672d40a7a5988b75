package cpuprof

import (
	"errors"
	"fmt"
	"math"
	"unsafe"
)

// A record is a sample as the log holds it, or a number of samples that were lost.
type record struct {
	at    int64          // by sampling.Now, never before the record before
	count int            // at least 1, but 0 when lost is not
	stack []uint64       // innermost first; part of the data read
	tag   unsafe.Pointer // the goroutine's labels
	lost  int
}

// A decoder decodes one log: what successive reads of it returned.
//
// A record is a word each for its length, its time and its count, then its stack. The first is the
// header, whose count is the rate. Count 0 with a stack of one word tells how many samples found
// the log full. Time 0 have samples of threads that are not Go's, which get into the log later.
type decoder struct {
	hz   int // 0 before the header
	last int64
}

// decode hands the records of one read to each. Where the data is malformed it stops, and says how
// many records were dropped, as far as that can be told.
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

// check says what is wrong with the first record of data.
func (d *decoder) check(data []uint64, tags int) error {
	const most = math.MaxInt32 // of whatever is counted; the runtime's own counters have 32 bits
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
		return fmt.Errorf("a header of %d words with rate %d: it has 3, and a rate", data[0],
			data[2])
	case d.hz != 0 && data[2] == 0 && (data[0] != 4 || data[3] == 0 || data[3] > most):
		return fmt.Errorf("a record of %d words that counts nothing: it has 4, the last 1 to %d",
			data[0], most)
	}
	return nil
}
