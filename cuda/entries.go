package cuda

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/arguments"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// names lists kernels, for errors.
func names(kernels map[string][]arguments.Parameter) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(kernels)) {
		all = append(all, quote.Name(name))
	}
	if len(all) > 8 {
		all = append(all[:8], "others")
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}

// readEntries returns the parameters of the kernels (.entry) in PTX.
func readEntries(text string) (map[string][]arguments.Parameter, error) {
	kernels := map[string][]arguments.Parameter{}
	w := ptxWords{text}
	for {
		switch word := w.next(); word {
		case "":
			return kernels, nil
		case ".entry":
			name := w.next()
			parameters, ok := w.parameters()
			if !ok {
				return nil, layout.Errorf(device.ErrInvalid, "Load", "the PTX's parameters of kernel %s cannot be read", quote.Name(name))
			}
			kernels[name] = parameters
		}
	}
}

// ptxWords are the words of a PTX text, and its single marks.
type ptxWords struct{ rest string }

// next returns the next word; "": there is none.
func (w *ptxWords) next() string {
	for {
		w.rest = strings.TrimLeft(w.rest, " \t\r\n\f\v")
		switch {
		case strings.HasPrefix(w.rest, "//"):
			_, w.rest, _ = strings.Cut(w.rest, "\n")
			continue
		case strings.HasPrefix(w.rest, "/*"):
			_, w.rest, _ = strings.Cut(w.rest[2:], "*/")
			continue
		case w.rest == "":
			return ""
		}
		n := strings.IndexFunc(w.rest, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._$%", r))
		})
		switch n {
		case -1:
			n = len(w.rest)
		case 0:
			n = 1
		}
		word := w.rest[:n]
		w.rest = w.rest[n:]
		return word
	}
}

// parameters reads the list behind a kernel's name, if any: "( .param .u64 a, ...)".
func (w *ptxWords) parameters() ([]arguments.Parameter, bool) {
	before := w.rest
	if w.next() != "(" {
		w.rest = before
		return nil, true
	}
	var all []arguments.Parameter
	for {
		switch word := w.next(); {
		case word == ")":
			return all, true
		case word == "," && len(all) > 0:
		case word == ".param" && len(all) < mostParameters:
			p, ok := w.parameter()
			if !ok {
				return nil, false
			}
			all = append(all, p)
		default:
			return nil, false
		}
	}
}

// parameter reads ".align 8 .b8 name[24]", or ".u64 .ptr .global .align 1 name".
func (w *ptxWords) parameter() (p arguments.Parameter, ok bool) {
	pointer := false
	for {
		word := w.next()
		switch {
		case word == "":
			return p, false
		case word == ".ptr":
			pointer = true
		case word == ".align":
			w.next()
		case !strings.HasPrefix(word, "."):
			p.Name = word
			if before := w.rest; w.next() != "[" {
				w.rest = before
			} else {
				n, err := strconv.ParseUint(w.next(), 0, 15)
				if err != nil || w.next() != "]" {
					return p, false
				}
				p.Kind, p.Bytes = arguments.Struct, p.Bytes*int(n)
			}
			if pointer {
				p.Kind = arguments.Pointer
			}
			return p, p.Bytes > 0
		case p.Type == "":
			p.Type = word
			p.Kind, p.Bytes = ptxType(word)
		}
	}
}

// ptxType returns the kinds of value for a parameter of a type, such as ".u64". A number of 64
// bits may be a pointer.
func ptxType(name string) (kind arguments.Kind, bytes int) {
	if len(name) < 3 {
		return 0, 0
	}
	bits, err := strconv.Atoi(name[2:])
	if err != nil || bits < 8 || bits > 128 {
		return 0, 0
	}
	switch name[1] {
	case 'u', 's':
		kind = arguments.Integer
	case 'f':
		kind = arguments.Float
	case 'b':
		kind = arguments.ByValue
	}
	if bits == 64 && name[1] != 'f' {
		kind |= arguments.Pointer
	}
	return kind | arguments.Struct, bits / 8
}
