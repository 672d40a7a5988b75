// Package blackbox keeps what a process does in a file that outlives the process, and reads the
// files of processes that are gone.
//
// A living process has a [Box]: a mapped file, which the process holds locked. The file has the
// facts about the process, its newest status, the open requests, and the finished spans that no
// backend has taken: see package mirror. Beside it lies a file for the last words of the Go
// runtime.
//
// [Find] returns the files in a directory. [Take] locks the file of a process that is gone, and
// [File.Read] reads what happened. [Resend] sends what the process has left for the backend.
package blackbox
