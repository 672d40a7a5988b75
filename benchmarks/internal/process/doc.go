// Package process tells what the process has used.
package process
