// Package recipes has the pieces of docs/recipes.md, tested with the real libraries. It is
// a module of its own: copy the lines that you need.
package recipes
