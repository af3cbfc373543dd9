// Package jsontext reads JSON one token at a time, in the memory of the longest token. It
// accepts what Rust's serde_json accepts, which the readers of safetensors use: text is
// UTF-8, escapes are whole characters, numbers fit a float64, values nest up to MaxDepth.
package jsontext

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxDepth is the deepest nesting of objects and arrays.
const MaxDepth = 127

// Kind is the kind of a token.
type Kind byte

// The kinds of tokens. Commas and colons are not tokens.
const (
	End         Kind = 0 // of the whole text
	Null        Kind = 'n'
	True        Kind = 't'
	False       Kind = 'f'
	Number      Kind = '0'
	Text        Kind = '"'
	Key         Kind = ':' // of a member of an object
	Object      Kind = '{'
	ObjectEnd   Kind = '}'
	Array       Kind = '['
	ArrayEnd    Kind = ']'
	noKind      Kind = 1
	firstLength      = 64 // of the buffer for texts
)

var kindNames = map[Kind]string{
	End: "the end", Null: "null", True: "true", False: "false", Number: "a number", Text: "a text", Key: "a key",
	Object: "an object", ObjectEnd: "the end of an object", Array: "an array", ArrayEnd: "the end of an array",
}

func (k Kind) String() string { return kindNames[k] }

// Error is a text that is not JSON.
type Error struct {
	At  int64 // the byte, counted from 0
	Msg string
}

func (e *Error) Error() string { return fmt.Sprintf("byte %d: %s", e.At, e.Msg) }

// Reader reads a text.
type Reader struct {
	in   *bufio.Reader
	grow func(bytes int64) error
	at   int64
	open []byte // the first character of each open value
	last Kind   // the previous token; noKind: there is none
	text []byte
}

// NewReader returns a reader. It calls grow before it allocates memory for a long token, with
// the number of bytes; an error of grow ends the reading. grow may be nil.
func NewReader(in io.Reader, grow func(bytes int64) error) *Reader {
	return &Reader{in: bufio.NewReaderSize(in, 1<<16), grow: grow, last: noKind}
}

// Bytes returns the content of the last token: of a Key or a Text its characters, of a
// Number its digits. The next token overwrites it.
func (r *Reader) Bytes() []byte { return r.text }

// Depth returns the number of open objects and arrays.
func (r *Reader) Depth() int { return len(r.open) }

// Next returns the next token. After the outermost value it is End; only blanks may follow.
func (r *Reader) Next() (Kind, error) {
	k, err := r.next()
	if err == io.EOF {
		err = r.fail("the text ends within a value")
	}
	if err != nil {
		return End, err
	}
	switch k {
	case Object, Array:
		if len(r.open) == MaxDepth {
			return End, r.fail("values nest more than %d deep", MaxDepth)
		}
		r.open = append(r.open, byte(k))
	case ObjectEnd, ArrayEnd:
		r.open = r.open[:len(r.open)-1]
	}
	r.last = k
	return k, nil
}

// Skip reads the rest of the value that the last token begins.
func (r *Reader) Skip() error {
	if r.last != Object && r.last != Array {
		return nil
	}
	for depth := len(r.open); len(r.open) >= depth; {
		if _, err := r.Next(); err != nil {
			return err
		}
	}
	return nil
}

// next reads a token, and the comma or colon before it.
func (r *Reader) next() (Kind, error) {
	c, err := r.blank()
	if len(r.open) == 0 && r.last != noKind {
		switch {
		case err == io.EOF:
			return End, nil
		case err == nil:
			return End, r.fail("%q follows the value", c)
		}
	}
	if err != nil {
		return End, err
	}
	if len(r.open) == 0 {
		return r.value(c)
	}
	in := r.open[len(r.open)-1]
	first := r.last == Kind(in)
	switch {
	case r.last == Key:
		if c != ':' {
			return End, r.fail("%q; a colon is wanted", c)
		}
		if c, err = r.blank(); err != nil {
			return End, err
		}
		return r.value(c)
	case c == in+2: // } and ] are two after { and [
		return Kind(c), nil
	case !first && c != ',':
		return End, r.fail("%q; a comma is wanted", c)
	case !first:
		if c, err = r.blank(); err != nil {
			return End, err
		}
	}
	if in == '[' {
		return r.value(c)
	}
	if c != '"' {
		return End, r.fail("%q; a key is wanted", c)
	}
	return Key, r.string()
}

// value reads a value, or the beginning of one, whose first character is c.
func (r *Reader) value(c byte) (Kind, error) {
	switch {
	case c == '{' || c == '[':
		return Kind(c), nil
	case c == '"':
		return Text, r.string()
	case c == 'n':
		return Null, r.word("ull")
	case c == 't':
		return True, r.word("rue")
	case c == 'f':
		return False, r.word("alse")
	case c == '-' || c >= '0' && c <= '9':
		return Number, r.number(c)
	}
	return End, r.fail("%q; a value is wanted", c)
}

func (r *Reader) word(rest string) error {
	for _, want := range []byte(rest) {
		c, err := r.byte()
		if err != nil {
			return err
		}
		if c != want {
			return r.fail("%q in a word", c)
		}
	}
	return nil
}

// number reads a number, whose first character is c.
func (r *Reader) number(c byte) (err error) {
	r.text = r.text[:0]
	digits := func() (n int) {
		for ; err == nil && c >= '0' && c <= '9'; n++ {
			c, err = r.keep(c)
		}
		return n
	}
	if c == '-' {
		c, err = r.keep(c)
	}
	zero := c == '0'
	n, whole := digits(), true
	if n == 0 || zero && n > 1 {
		return r.wrong(err, "a number's digits")
	}
	if err == nil && c == '.' {
		whole = false
		if c, err = r.keep(c); digits() == 0 {
			return r.wrong(err, "a fraction's digits")
		}
	}
	if err == nil && (c == 'e' || c == 'E') {
		whole = false
		if c, err = r.keep(c); err == nil && (c == '+' || c == '-') {
			c, err = r.keep(c)
		}
		if digits() == 0 {
			return r.wrong(err, "an exponent's digits")
		}
	}
	switch {
	case err == nil:
		r.at--
		err = r.in.UnreadByte()
	case err == io.EOF:
		err = nil // the end of the text ends a number, too
	}
	if err != nil || whole && n < 300 {
		return err
	}
	if _, e := strconv.ParseFloat(string(r.text), 64); errors.Is(e, strconv.ErrRange) {
		return r.fail("a number that float64 does not have")
	}
	return nil
}

// wrong is an error about a part of a number, unless reading has failed.
func (r *Reader) wrong(err error, what string) error {
	if err != nil && err != io.EOF {
		return err
	}
	return r.fail("%s are wrong", what)
}

// keep adds a character to the token, and returns the next one.
func (r *Reader) keep(c byte) (byte, error) {
	if err := r.add(c); err != nil {
		return 0, err
	}
	return r.byte()
}

// string reads the text after a quotation mark, up to the next.
func (r *Reader) string() error {
	r.text = r.text[:0]
	begin := 0 // start of the characters that are not yet checked
	for {
		c, err := r.byte()
		if err != nil {
			return err
		}
		switch {
		case c == '"' && utf8.Valid(r.text[begin:]):
			return nil
		case c == '"' || c == '\\' && !utf8.Valid(r.text[begin:]):
			return r.fail("the text before it is not UTF-8")
		case c == '\\':
			err = r.escape()
			begin = len(r.text)
		case c < ' ':
			return r.fail("the control character %q in a text", c)
		default:
			err = r.add(c)
		}
		if err != nil {
			return err
		}
	}
}

var escapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape reads the text after a backslash.
func (r *Reader) escape() error {
	c, err := r.byte()
	if err != nil {
		return err
	}
	if plain, ok := escapes[c]; ok {
		return r.add(plain)
	}
	if c != 'u' {
		return r.fail("the escape %q", c)
	}
	char, err := r.hex()
	if err != nil {
		return err
	}
	if utf16.IsSurrogate(char) {
		if err := r.word(`\u`); err != nil {
			return err
		}
		low, err := r.hex()
		if err != nil {
			return err
		}
		if char = utf16.DecodeRune(char, low); char == utf8.RuneError {
			return r.fail("the escape of half a character")
		}
	}
	return r.add(utf8.AppendRune(nil, char)...)
}

// hex reads the four digits of a character's number.
func (r *Reader) hex() (rune, error) {
	var digits [4]byte
	for i := range digits {
		c, err := r.byte()
		if err != nil {
			return 0, err
		}
		digits[i] = c
	}
	n, err := strconv.ParseUint(string(digits[:]), 16, 32)
	if err != nil {
		return 0, r.fail("the digits %q of an escape", digits)
	}
	return rune(n), nil
}

// add adds characters to the token.
func (r *Reader) add(c ...byte) error {
	if need := len(r.text) + len(c); need > cap(r.text) {
		to := max(firstLength, 2*need)
		if r.grow != nil {
			if err := r.grow(int64(to)); err != nil {
				return err
			}
		}
		r.text = append(make([]byte, 0, to), r.text...)
	}
	r.text = append(r.text, c...)
	return nil
}

// blank returns the next character that is not blank.
func (r *Reader) blank() (byte, error) {
	for {
		c, err := r.byte()
		if err != nil || c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c, err
		}
	}
}

func (r *Reader) byte() (byte, error) {
	c, err := r.in.ReadByte()
	if err == nil {
		r.at++
	}
	return c, err
}

func (r *Reader) fail(format string, args ...any) error {
	return &Error{max(0, r.at-1), fmt.Sprintf(format, args...)}
}
