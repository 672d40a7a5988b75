package cputime

import (
	"fmt"
	"testing"
	"testing/fstest"
	"time"
)

// Limits of both versions, of the process's own group and of groups above, in containers with and without a namespace.
func TestLimits(t *testing.T) {
	const (
		second = "30 23 0:27 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
		first  = "31 24 0:28 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n32 24 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
		other  = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
	)
	for _, c := range []struct {
		name       string
		mounts     string
		own        string
		files      map[string]string
		processors []float64
		throttled  time.Duration
	}{
		{"none", other, "", nil, nil, 0},
		{"version 2, no limit", other + second, "0::/app\n", map[string]string{"sys/fs/cgroup/app/cpu.max": "max 100000\n", "sys/fs/cgroup/app/cpu.stat": "throttled_usec 7\n"}, nil, 0},
		{"version 2", other + second, "0::/app\n", map[string]string{
			"sys/fs/cgroup/app/cpu.max": "50000 100000\n", "sys/fs/cgroup/app/cpu.stat": "usage_usec 1\nnr_throttled 2\nthrottled_usec 1500\n",
		}, []float64{0.5}, 1500 * time.Microsecond},
		{"version 2, a limit above", second, "0::/pod/app\n", map[string]string{
			"sys/fs/cgroup/pod/app/cpu.max": "200000 100000\n", "sys/fs/cgroup/pod/app/cpu.stat": "throttled_usec 1\n",
			"sys/fs/cgroup/pod/cpu.max": "150000 100000\n", "sys/fs/cgroup/pod/cpu.stat": "throttled_usec 2\n",
		}, []float64{2, 1.5}, 3 * time.Microsecond},
		{"version 2, in a container with a namespace", second, "0::/\n", map[string]string{
			"sys/fs/cgroup/cpu.max": "25000 100000\n", "sys/fs/cgroup/cpu.stat": "throttled_usec 9\n",
		}, []float64{0.25}, 9 * time.Microsecond},
		{"version 2, above the namespace", second, "0::/../other\n", map[string]string{
			"sys/fs/cgroup/cpu.max": "25000 100000\n", "sys/fs/cgroup/cpu.stat": "throttled_usec 9\n",
		}, []float64{0.25}, 9 * time.Microsecond},
		{"version 1", first, "4:cpu,cpuacct:/app\n3:memory:/elsewhere\n", map[string]string{
			"sys/fs/cgroup/cpu,cpuacct/app/cpu.cfs_quota_us": "50000\n", "sys/fs/cgroup/cpu,cpuacct/app/cpu.cfs_period_us": "100000\n",
			"sys/fs/cgroup/cpu,cpuacct/app/cpu.stat": "nr_periods 5\nnr_throttled 2\nthrottled_time 1500\n",
		}, []float64{0.5}, 1500},
		{"version 1, no limit", first, "4:cpu,cpuacct:/app\n", map[string]string{
			"sys/fs/cgroup/cpu,cpuacct/app/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu,cpuacct/app/cpu.cfs_period_us": "100000\n",
		}, nil, 0},
		{
			"version 1, in a container without a namespace", "31 24 0:28 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n", "4:cpu:/docker/abc\n",
			map[string]string{"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "300000", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000", "sys/fs/cgroup/cpu/cpu.stat": "throttled_time 4"},
			[]float64{3}, 4,
		},
		{"both versions, the first has the processors", first + second, "4:cpu,cpuacct:/app\n0::/app\n", map[string]string{
			"sys/fs/cgroup/cpu,cpuacct/app/cpu.cfs_quota_us": "50000", "sys/fs/cgroup/cpu,cpuacct/app/cpu.cfs_period_us": "100000",
		}, []float64{0.5}, 0},
		{"malformed", "x\n - \n" + second, "\n::\n0::/app", map[string]string{"sys/fs/cgroup/app/cpu.max": "50000", "sys/fs/cgroup/cpu.max": "0 0"}, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := fstest.MapFS{
				"proc/self/mountinfo": {Data: []byte(c.mounts)}, "proc/self/cgroup": {Data: []byte(c.own)},
				"proc/self/task/1/schedstat": {Data: []byte("100 20 3\n")}, "proc/self/task/7/schedstat": {Data: []byte("100 3 3\n")}, "proc/self/task/8/comm": {},
			}
			for name, text := range c.files {
				root[name] = &fstest.MapFile{Data: []byte(text)}
			}
			m := Meter{root: root, groups: limitedGroups(root)}
			var processors []float64
			for _, g := range m.groups {
				processors = append(processors, g.processors)
			}
			u := m.Read()
			if fmt.Sprint(processors) != fmt.Sprint(c.processors) || u.Throttled != c.throttled || u.Delayed != 23 {
				t.Errorf("limits of %v processors, %+v; want %v, throttled for %v, delayed for 23ns", processors, u, c.processors, c.throttled)
			}
		})
	}
}

// A usage has the limit that has stopped the process most since the last one, of all that there are.
func TestLimitThatStopped(t *testing.T) {
	root := fstest.MapFS{
		"proc/self/mountinfo": {Data: []byte("30 23 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")}, "proc/self/cgroup": {Data: []byte("0::/pod/app\n")},
		"sys/fs/cgroup/pod/cpu.max": {Data: []byte("150000 100000")}, "sys/fs/cgroup/pod/app/cpu.max": {Data: []byte("50000 100000")},
	}
	m := Meter{root: root, groups: limitedGroups(root)}
	for i, c := range []struct {
		pod, app  int // throttled, in microseconds
		limit     float64
		throttled time.Duration
	}{
		{0, 0, 0, 0},
		{0, 300, 0.5, 300 * time.Microsecond},
		{200, 300, 1.5, 500 * time.Microsecond},
		{300, 500, 0.5, 800 * time.Microsecond},
		{300, 500, 0, 800 * time.Microsecond},
	} {
		root["sys/fs/cgroup/pod/cpu.stat"] = &fstest.MapFile{Data: fmt.Appendf(nil, "throttled_usec %d\n", c.pod)}
		root["sys/fs/cgroup/pod/app/cpu.stat"] = &fstest.MapFile{Data: fmt.Appendf(nil, "throttled_usec %d\n", c.app)}
		if u := m.Read(); u.Limit != c.limit || u.Throttled != c.throttled {
			t.Errorf("usage %d: the limit of %v, throttled for %v; want %v, %v", i, u.Limit, u.Throttled, c.limit, c.throttled)
		}
	}
}

// The process has used CPU time, and its counts never go back.
func TestMeter(t *testing.T) {
	m := NewMeter()
	before := m.Read()
	after := m.Read()
	if before.Process <= 0 || after.Process < before.Process || after.Delayed < before.Delayed || after.Throttled < before.Throttled {
		t.Errorf("read %+v, then %+v", before, after)
	}
}
