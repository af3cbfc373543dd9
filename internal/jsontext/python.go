package jsontext

import "bytes"

// Python's json module writes numbers that JSON does not have as bare words. pythonWords are
// these, each with the text that stands for it: NUL does not occur in the texts of
// configurations.
var pythonWords = []struct{ word, text []byte }{
	{[]byte("-Infinity"), []byte(`"\u0000-Infinity"`)}, {[]byte("Infinity"), []byte(`"\u0000Infinity"`)}, {[]byte("NaN"), []byte(`"\u0000NaN"`)},
}

// FromPython returns a text of Python's json module as JSON: Infinity, -Infinity and NaN are
// texts with a NUL before the word. Other texts are returned as they are.
func FromPython(text []byte) []byte {
	var out []byte
	quoted, copied := false, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		default:
			for _, w := range pythonWords {
				if bytes.HasPrefix(text[i:], w.word) {
					out = append(append(out, text[copied:i]...), w.text...)
					copied = i + len(w.word)
					i = copied - 1
					break
				}
			}
		}
	}
	if out == nil {
		return text
	}
	return append(out, text[copied:]...)
}

// ToPython is the opposite of FromPython.
func ToPython(text []byte) []byte {
	for _, w := range pythonWords {
		text = bytes.ReplaceAll(text, w.text, w.word)
	}
	return text
}
