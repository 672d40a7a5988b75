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
