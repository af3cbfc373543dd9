package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/restride/restride/internal/quote"
)

// part is the I-th of N parts of the output's files.
type part struct{ number, of int }

// maxParts is the most parts: the most files of one checkpoint.
const maxParts = 10_000

// parsePart parses --shard.
func parsePart(text string) (p part, err error) {
	i, n, _ := strings.Cut(text, "/")
	p.number, err = strconv.Atoi(i)
	if err == nil {
		p.of, err = strconv.Atoi(n)
	}
	if err != nil || p.number < 1 || p.of < p.number || p.of > maxParts {
		return p, fmt.Errorf("%s: want a part and how many there are, as 2/8, at most %d", quote.Name(text), maxParts)
	}
	return p, nil
}

// has reports whether the part has the i-th file: every of-th file, so that the sizes of parts
// differ by at most one file.
func (p part) has(i int) bool { return i%p.of == p.number-1 }

// mine are the files of this part.
func (r *repack) mine() (files []*outFile) {
	for i, f := range r.files {
		if r.part.has(i) {
			files = append(files, f)
		}
	}
	return files
}
