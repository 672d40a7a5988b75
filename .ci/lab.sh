# The laboratory. Nothing waits for it: the hosted workflow runs it at night.

laboratory() {
	local into=()
	browser && node && databases && built || return 1
	(($#)) || into=(-into ../docs/lab/latest.md)
	go run -C lab . "${into[@]}" "$@"
}

part_programs() {
	step "one short round of each program of lab" go run -C lab . -short || return 1
	step "the shop, as in its guide" go run -C examples ./shop -for 3s || return 1
}
