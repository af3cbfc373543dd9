// Package nearest guesses the name that an unknown word was meant to be.
package nearest

import (
	"fmt"
	"strings"
)

// longest is the most runes of a word for a guess.
const longest = 64

// To returns the intended name for a word, or "" if none is close: it differs in at most a
// third of the word's letters, or begins with the word. Among equally close names it is the
// first.
func To(word string, names []string) string {
	typed := []rune(strings.ToLower(word))
	if len(typed) == 0 || len(typed) > longest {
		return ""
	}
	least, best := max(1, len(typed)/3)+1, ""
	for _, name := range names {
		lower := strings.ToLower(name)
		n := distance(typed, []rune(lower))
		if len(typed) > 1 && strings.HasPrefix(lower, string(typed)) {
			n = min(n, 1)
		}
		if n < least {
			least, best = n, name
		}
	}
	return best
}

// Meant is the end of a message about an unknown word: " (did you mean "run"?)", or nothing.
func Meant(word string, names []string) string {
	if name := To(word, names); name != "" {
		return fmt.Sprintf(" (did you mean %q?)", name)
	}
	return ""
}

// distance is the number of letters to insert, remove, replace or exchange with their neighbour
// to turn a into b.
func distance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for k := range last {
		last[k] = k
	}
	for i := range a {
		row[0] = i + 1
		for k := range b {
			n := last[k]
			if a[i] != b[k] {
				n = 1 + min(n, last[k+1], row[k])
				if i > 0 && k > 0 && a[i] == b[k-1] && a[i-1] == b[k] {
					n = min(n, 1+before[k-1])
				}
			}
			row[k+1] = n
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
