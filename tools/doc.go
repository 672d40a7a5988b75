// Package tools is the folder of what the repository is made and checked with. Users of perfline
// never download it.
//
//   - protogen generates the code of the schemas in proto.
//   - rehearsal releases the modules to a proxy on disk, and uses them from there.
//   - lint.mod and actionlint.mod pin programs of others: the linter, the search for known
//     vulnerabilities, and the checker of the workflow. They are go.mod files for the flag
//     -modfile, so that no module has the programs' requirements.
package tools
