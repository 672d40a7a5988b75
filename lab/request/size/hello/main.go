// Command hello is the service that the other programs here add telemetry to. The judge builds
// them and compares their sizes and modules. They are never run.
package main

import (
	"io"
	"net/http"
	"os"
)

func main() {
	handler := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "hello")
	}
	err := http.ListenAndServe("localhost:8080", http.HandlerFunc(handler)) //nolint:gosec // only built
	if err != nil {
		os.Exit(1)
	}
}
