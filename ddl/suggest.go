package ddl

import "strings"

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
