// Package frameworks has the lines that routers and frameworks need: each tells bridgehttp the
// route that matched. They are not a part of perfline's module, because no program should get the
// modules of other routers. docs/frameworks.md shows them; copy the one you need.
package frameworks
