package ddl

import "sort"

// nearest returns the candidate that a misspelt word most likely stands for, or "" when none is close.
func nearest(word string, candidates []string) string {
	sort.Strings(candidates)
	best, bestCost := "", 1+len(word)/3
	for _, c := range candidates {
		if cost := distance(word, c); cost <= bestCost && (best == "" || cost < bestCost) {
			best, bestCost = c, cost
		}
	}
	return best
}

// distance counts insertions, deletions, replacements and swaps of neighbours.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	prev2, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], prev2[j-2]+1)
			}
		}
		prev2, prev, row = prev, row, prev2
	}
	return prev[len(b)]
}
