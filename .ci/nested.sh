# The modules of examples, benchmarks and tools. Their programs run in short form: the pieces have
# tests of their own.

part_nested() {
	step "PostgreSQL and Redis are there" databases || return 1
	step "tests" in_nested go test -race -vet=off ./... || return 1
	step "what a request costs: allocations, modules and sizes within their limits" go run -C lab ./request counts || return 1
	step "the tables of costs can be made, and every call arrives" tables || return 1
	step "the profiler beside runtime/pprof" go run -C lab ./profiling -rounds 1 -length 200ms overhead attribution top push || return 1
	step "sessions of many entries" go run -C lab ./sessions -events 10000 || return 1
	step "a load without a reader is accounted for" go run -C lab ./load -for 2s || return 1
	step "the shop, as in its guide" go run -C examples ./shop -for 3s || return 1
}

# For the recipes in examples.
databases() { installed pg_ctlcluster postgresql && installed redis-server redis-server; }

tables() {
	go run -C lab ./calls -rounds 2 -length 3ms || return 1
	go run -C lab ./request -rounds 2 -length 20ms || return 1
	go run -C lab ./request -rounds 1 -length 200ms -idle 1s report || return 1
	go run -C lab ./request -rounds 1 -length 100ms -only '^http$' waits || return 1
	go run -C lab ./request -rounds 1 -length 20ms kept || return 1
	go run -C lab ./request -rounds 1 -length 20ms -only '^http$' exporter || return 1
	go run -C lab ./request -rounds 1 -length 20ms spans || return 1
	go run -C lab ./request heap
}
