package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// A machine has what a recording says of the machine that it was made on, each with what it says
// instead.
type machine struct {
	names *strings.Replacer
}

var containerID = regexp.MustCompile(`("key":"container\.id","value":)"[^"]*"`)

// thisMachine finds out where the sources of the shop are. The command runs in the folder
// integration.
func thisMachine(ctx context.Context) (machine, error) {
	root, err := filepath.Abs("..")
	if err != nil {
		return machine{}, err
	}
	host, err := os.Hostname()
	if err != nil {
		return machine{}, err
	}
	out, err := exec.CommandContext(ctx, "go", "env", "GOMODCACHE", "GOROOT").Output()
	if err != nil {
		return machine{}, err
	}
	cache, goroot, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return machine{strings.NewReplacer(
		`"`+root+"/", `"/src/perfline/`, `"`+cache+"/", `"/go/pkg/mod/`, `"`+goroot+"/",
		`"/usr/local/go/`,
		`"host.name","value":"`+host+`"`, `"host.name","value":"host.example"`)}, nil
}

// text returns an answer without the names of the machine.
func (m machine) text(answer json.RawMessage) json.RawMessage {
	return json.RawMessage(containerID.ReplaceAllString(m.names.Replace(string(answer)),
		`$1"00000000000000000000000000000000"`))
}
