package main

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
)

// A machine has what a recording says of the machine that it was made on, each with what it says
// instead.
type machine struct {
	names *strings.Replacer
}

var containerID = regexp.MustCompile(`("key":"container\.id","value":)"[^"]*"`)

// thisMachine finds out the name of the machine. The paths of the shop have no folders of it.
func thisMachine() (machine, error) {
	host, err := os.Hostname()
	if err != nil {
		return machine{}, err
	}
	return machine{strings.NewReplacer(
		`"host.name","value":"`+host+`"`, `"host.name","value":"host.example"`)}, nil
}

// text returns an answer without the names of the machine.
func (m machine) text(answer json.RawMessage) json.RawMessage {
	return json.RawMessage(containerID.ReplaceAllString(m.names.Replace(string(answer)),
		`$1"00000000000000000000000000000000"`))
}
