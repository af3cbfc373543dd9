package main

import (
	"errors"
	"regexp"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/quant"
)

// checked is a flag whose value is checked with the command line: a wrong value ends the command
// before it does anything.
type checked struct {
	value *string
	kind  string // the name of the value in help texts
	check func(value string) error
}

func (c *checked) String() string {
	if c.value == nil { // pflag's zero value, with which it compares
		return ""
	}
	return *c.value
}

func (c *checked) Set(value string) error {
	if err := c.check(value); err != nil {
		return err
	}
	*c.value = value
	return nil
}

func (c *checked) Type() string { return c.kind }

// formatFlag is the name of a format of weights.
func formatFlag(name *string) *checked {
	return &checked{name, "FORMAT", func(word string) error {
		_, err := quant.Lookup(word)
		if e := new(layout.Error); errors.As(err, &e) {
			return errors.New(e.Msg)
		}
		return err
	}}
}

// patternFlag is a regular expression.
func patternFlag(text *string) *checked {
	return &checked{text, "REGEXP", func(word string) error {
		_, err := regexp.Compile(word)
		return quote.Error(err)
	}}
}

// sizeFlag is a number of bytes.
func sizeFlag(text *string) *checked {
	return &checked{text, "SIZE", func(word string) error {
		_, err := parseSize(word)
		return err
	}}
}

// partFlag is a part of the files to write.
func partFlag(text *string) *checked {
	return &checked{text, "I/N", func(word string) error {
		_, err := parsePart(word)
		return err
	}}
}
