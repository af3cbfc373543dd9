// Package quote writes foreign text (names in files, paths, texts of drivers and of other
// programs, arguments) so that it is safe in a message or on a terminal: no control character,
// escape sequence, line break, change of direction or broken UTF-8 is left, only its escape as
// in Go's source.
package quote

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxName is the number of bytes of a name that are shown.
const maxName = 80

// Name is a name in quotation marks, escaped, and truncated if it is extremely long.
func Name(name string) string {
	if len(name) <= maxName {
		return strconv.Quote(name)
	}
	end := maxName
	for end > maxName-utf8.UTFMax && !utf8.RuneStart(name[end]) {
		end--
	}
	return strconv.Quote(name[:end]) + fmt.Sprintf("... (%d bytes)", len(name))
}

// Plain is Name for a place where quotation marks would be noise: a name that needs neither
// escapes nor truncation is returned unchanged.
func Plain(name string) string {
	if q := Name(name); q != `"`+name+`"` {
		return q
	}
	return name
}

// Path is the path of a file, untruncated, like Plain: in quotation marks if it needs escapes.
func Path(path string) string {
	if Text(path) != path {
		return strconv.Quote(path)
	}
	return path
}

// Text is a text in one line, whole and without quotation marks: unprintable characters are
// escaped. The Text of a Text is the same.
func Text(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if c := text[:size]; strconv.IsPrint(r) && (r != utf8.RuneError || size > 1) {
			b.WriteString(c)
		} else {
			q := strconv.Quote(c)
			b.WriteString(q[1 : len(q)-1])
		}
		text = text[size:]
	}
	return b.String()
}

const indent = "    "

// Lines is a text of several lines, such as a compiler's log: each is a Text, and all but the
// first are indented, so that they do not look like lines of this program. The Lines of Lines
// are the same.
func Lines(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\r\n"), "\n")
	for i, line := range lines {
		line = strings.ReplaceAll(strings.TrimSuffix(line, "\r"), "\t", indent)
		if lines[i] = Text(line); i > 0 && line != "" && !strings.HasPrefix(line, indent) {
			lines[i] = indent + lines[i]
		}
	}
	return strings.Join(lines, "\n")
}

// Error gives an error of another package, whose text may hold a path or an argument, a
// text that is a Text. A nil err stays nil.
func Error(err error) error {
	if err == nil || Text(err.Error()) == err.Error() {
		return err
	}
	return &quoted{err}
}

type quoted struct{ err error }

func (q *quoted) Error() string { return Text(q.err.Error()) }

func (q *quoted) Unwrap() error { return q.err }
