package waits

var kindNames = [...]string{
	Gap:               "gap",
	OnCPU:             "running",
	Runnable:          "runnable",
	Mutex:             "mutex",
	ChannelSend:       "channel send",
	ChannelReceive:    "channel receive",
	Select:            "select",
	Network:           "network",
	File:              "file or pipe",
	Timer:             "timer",
	Condition:         "condition",
	WaitGroup:         "WaitGroup",
	Pool:              "pool",
	Wait:              "wait",
	Syscall:           "system call",
	GCAssist:          "GC assist",
	StopTheWorld:      "stop-the-world",
	GarbageCollection: "garbage collection",
	OtherPrograms:     "other programs",
	CPULimit:          "CPU limit",
	NotRun:            "not run",
}

// String returns the name of the kind, such as "system call", or "unknown" for other numbers.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}
