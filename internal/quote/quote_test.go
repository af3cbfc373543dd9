package quote

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestName(t *testing.T) {
	long := strings.Repeat("x", 79)
	for name, want := range map[string][2]string{
		"":           {`""`, ""},
		"a b/é":      {`"a b/é"`, "a b/é"},
		"a\n\x1b[0m": {`"a\n\x1b[0m"`, `"a\n\x1b[0m"`},
		`say "x"`:    {`"say \"x\""`, `"say \"x\""`},
		"\xff\x00":   {`"\xff\x00"`, `"\xff\x00"`},
		"\u202etxt":  {`"\u202etxt"`, `"\u202etxt"`},
		long + "y":   {`"` + long + `y"`, long + "y"},
		long + "yz":  {`"` + long + `y"... (81 bytes)`, `"` + long + `y"... (81 bytes)`},
		long + "éy":  {`"` + long + `"... (82 bytes)`, `"` + long + `"... (82 bytes)`},
	} {
		assert.Equal(t, want, [2]string{Name(name), Plain(name)})
	}
}

// A name of 94 bytes is shown in full: truncated, with the note of its length, it would be as
// long.
func TestPlainOfEveryLength(t *testing.T) {
	for n := range 200 {
		name := strings.Repeat("x", n) + "\x1b\n"
		require.NotContains(t, Plain(name), "\x1b", n)
	}
}

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "",
		`say "x\y", é ☃`:       `say "x\y", é ☃`,
		"a\nb\tc\r\x1b[2J\x7f": `a\nb\tc\r\x1b[2J\x7f`,
		"\u202e\u2028\u00a0":   `\u202e\u2028\u00a0`,
		"\u009b31m":            `\u009b31m`, // an escape sequence in a byte
		"\xff\ufffd\xc3":       `\xff` + "\ufffd" + `\xc3`,
	} {
		assert.Equal(t, want, Text(text))
		assert.Equal(t, want, Text(want), "again")
	}
	assert.Equal(t, "/tmp/a b", Path("/tmp/a b"))
	assert.Equal(t, `"a\nb"`, Path("a\nb"))
}

func TestLines(t *testing.T) {
	assert.Equal(t, "k.cl:1: x\n\n    y", Lines("k.cl:1: x\r\n\n\ty\n\n"))
	assert.Equal(t, `a\rb`+"\n    PASS\n    "+`\x1b[1mz`, Lines("a\rb\nPASS\n\x1b[1mz"))
}

func TestError(t *testing.T) {
	assert.NoError(t, Error(nil))
	plain := errors.New("plain")
	assert.Same(t, plain, Error(plain))
	err := Error(&fs.PathError{Op: "open", Path: "a\nb", Err: fs.ErrNotExist})
	assert.EqualError(t, err, `open a\nb: file does not exist`)
	assert.ErrorIs(t, err, fs.ErrNotExist)
}

func FuzzText(f *testing.F) {
	f.Add("a\x1b\xff\u202e\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, shown := range []string{Name(text), Plain(text), Path(text), Text(text), strings.ReplaceAll(Lines(text), "\n", "")} {
			require.True(t, utf8.ValidString(shown))
			require.NotContains(t, shown, "\n")
			require.False(t, strings.ContainsFunc(shown, func(r rune) bool { return !unicode.IsPrint(r) }), "%q", shown)
		}
		require.Equal(t, Text(text), Text(Text(text)))
		require.Equal(t, Lines(text), Lines(Lines(text)))
	})
}
