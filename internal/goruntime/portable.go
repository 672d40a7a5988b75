package goruntime

import "errors"

// errPortable is what all checks return in a build with the tag.
var errPortable = errors.New("this program was built with the tag perfline_portable")
