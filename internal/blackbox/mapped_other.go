//go:build !linux && !darwin && !windows

package blackbox

import "os"

var errSystem = Unsupported()

func create(string) (*os.File, error)            { return nil, errSystem }
func open(string) (*os.File, error)              { return nil, errSystem }
func openUnlocked(name string) (*os.File, error) { return os.Open(name) }
func mapFile(*os.File, int) ([]byte, error)      { return nil, errSystem }
func refuse(string) error                        { return errSystem }
func bootID() string                             { return "" }
func unlock(*os.File) error                      { return errSystem }
func unmap([]byte)                               {}
