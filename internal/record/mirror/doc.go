// Package mirror copies what open requests have done into memory that outlives the process: the
// mapped file of the black box. Package blackbox maps the file, and reads the files of processes
// that are gone.
//
// A [Region] divides the memory into slots. Each open request has a slot: a header, the name of the
// route, and cells. A cell has one entry: a span that is open, or a mark, a measure or a span that
// has ended. A request with more entries than cells keeps its newest ones, and the slot counts the
// others. A few slots are large, and more are small, with one cell. Requests without a slot are
// counted.
//
// The process may die between any two instructions. A write therefore changes only one cell or one
// header, and each of them has a checksum and the generation of its slot. A generation is the
// number of the request in the slot: an entry of an earlier request has another one.
// [Region.Requests] leaves out what does not fit.
//
// The memory may fail at any write, because the file lies on a disk. A failed write ends all writes
// to the region, and does not end the program.
package mirror
