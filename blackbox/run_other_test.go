//go:build !unix

package main

import "syscall"

func withoutTerminal() *syscall.SysProcAttr { return nil }

func helper(string) {}

func programUnix(how string) { panic(how) }
