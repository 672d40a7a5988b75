package text

import "strings"

// Function returns the name of a function as in the source: (*Index).rebuild for a method, and
// store.flush for a function. Function returns "" for a name that ends with a slash.
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
