// Package process reads what the process has used.
package process
