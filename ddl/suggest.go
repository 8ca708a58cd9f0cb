package ddl

import (
	"sort"
	"strings"
)

// Nearest is the candidate that word was most likely meant to be, "" when none is close: it differs in case only, or in at
// most a third of its letters, three at the most. Of equally close ones the first in the list wins.
func Nearest(word string, candidates []string) string {
	limit := max(1, min(3, len(word)/3))
	best, found := limit+1, ""
	for _, c := range candidates {
		if c == word || len(c)-len(word) > limit || len(word)-len(c) > limit {
			continue
		}
		if strings.EqualFold(c, word) {
			return c
		}
		if d := distance(strings.ToLower(word), strings.ToLower(c)); d < best {
			best, found = d, c
		}
	}
	return found
}

// nearestWord is Nearest over a set of keywords.
func nearestWord(word string, keywords map[string]bool) string {
	list := make([]string, 0, len(keywords))
	for w := range keywords {
		list = append(list, w)
	}
	sort.Strings(list)
	return Nearest(strings.ToUpper(word), list)
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
