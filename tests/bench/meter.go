package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ticksPerSecond is USER_HZ, which is 100 on every Linux that Go runs on.
const ticksPerSecond = 100

// meter tells how much of the machine others used between startMeter and foreign.
type meter struct {
	roots       []int
	busy, total float64
	ours        float64
}

func startMeter(roots ...int) *meter {
	m := &meter{roots: roots}
	m.busy, m.total = machine()
	m.ours = treeTicks(roots)
	return m
}

// foreign is the share of all cores that processes outside our trees used.
func (m *meter) foreign() float64 {
	busy, total := machine()
	ours := treeTicks(m.roots) - m.ours
	return max(0, (busy-m.busy-ours)/(total-m.total))
}

// machine is the CPU time, busy and in all, in ticks since boot.
func machine() (busy, total float64) {
	b, _ := os.ReadFile("/proc/stat")
	fields := strings.Fields(strings.SplitN(string(b), "\n", 2)[0])[1:]
	for i, s := range fields[:min(8, len(fields))] {
		v, _ := strconv.ParseFloat(s, 64)
		total += v
		if i != 3 && i != 4 { // idle, iowait
			busy += v
		}
	}
	return busy, total
}

// treeTicks adds up the CPU ticks of the processes below roots, their ended children included.
func treeTicks(roots []int) float64 {
	parent := map[int]int{}
	ticks := map[int]float64{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, p := range stats {
		b, err := os.ReadFile(p)
		if err != nil {
			continue // the process has ended meanwhile
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(p)))
		f := strings.Fields(string(b)[strings.LastIndexByte(string(b), ')')+2:])
		parent[pid], _ = strconv.Atoi(f[1])
		for _, i := range []int{11, 12, 13, 14} { // utime stime cutime cstime
			v, _ := strconv.ParseFloat(f[i], 64)
			ticks[pid] += v
		}
	}
	isRoot := map[int]bool{}
	for _, r := range roots {
		isRoot[r] = true
	}
	var sum float64
	for pid, t := range ticks {
		for p, depth := pid, 0; p > 1 && depth < 64; p, depth = parent[p], depth+1 {
			if isRoot[p] {
				sum += t
				break
			}
		}
	}
	return sum
}

// processSeconds is the CPU time of one process so far.
func processSeconds(pid int) float64 {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	f := strings.Fields(string(b)[strings.LastIndexByte(string(b), ')')+1:])
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(f[11], 64)
	system, _ := strconv.ParseFloat(f[12], 64)
	return (user + system) / ticksPerSecond
}

// waitQuiet returns once the machine was nearly idle for a second, or at the limit.
func waitQuiet(limit time.Duration) {
	deadline := time.Now().Add(limit)
	for time.Now().Before(deadline) {
		b0, t0 := machine()
		time.Sleep(time.Second)
		b1, t1 := machine()
		if (b1-b0)/(t1-t0) < 0.12 {
			return
		}
	}
}

// peakRSS is the high-water mark of a process, in bytes.
func peakRSS(pid int) int64 {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	for _, line := range strings.Split(string(b), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kb << 10
		}
	}
	return 0
}
