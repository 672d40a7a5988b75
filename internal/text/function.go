package text

import "strings"

// Function returns the short name of a function. The parameter function is the runtime's name. The
// result for a method is, for example, (*Index).rebuild. The result for another function is, for
// example, store.flush. For a name that ends with a slash, the result is "".
func Function(function string) string {
	// Import paths may have dots, and type arguments may have slashes.
	name, arguments, _ := strings.Cut(function, "[")
	name = name[strings.LastIndexByte(name, '/')+1:]
	if arguments != "" {
		name += "[" + arguments
	}
	if _, method, ok := strings.Cut(name, ".("); ok {
		return "(" + method
	}
	return name
}

// Qualified returns the name of a function with its package: grpc.(*ClientConn).Invoke for a
// method, and store.flush for a function. The version at the end of an import path is no package.
// Qualified returns a name that ends with a slash as it is.
func Qualified(function string) string {
	name, arguments, _ := strings.Cut(function, "[")
	slash := strings.LastIndexByte(name, '/')
	path, name := name[:max(0, slash)], name[slash+1:]
	if version, call, ok := strings.Cut(name, "."); ok && path != "" && isVersion(version) {
		name = path[strings.LastIndexByte(path, '/')+1:] + "." + call
	}
	if name == "" {
		return function
	}
	name = strings.ReplaceAll(name, "%2e", ".") // as the linker escapes import paths
	if arguments != "" {
		name += "[" + arguments
	}
	return name
}

// isVersion reports whether an element of an import path is a major version, such as v2.
func isVersion(element string) bool {
	digits, ok := strings.CutPrefix(element, "v")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}
