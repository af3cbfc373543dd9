package infer

import (
	"math/bits"
	"strconv"
	"strings"

	"github.com/restride/restride/onnx/model"
)

// An extent is a number that may be unknown. An unknown one has a name or an expression of
// names, such as "floor((h-1)/2)+1", or "". Two extents with the same name are equal.
type extent struct {
	n     int64
	known bool
	name  string
}

// maxName limits expressions: longer ones are of no use to a reader.
const maxName = 64

func num(n int64) extent { return extent{n: n, known: true} }

func extentOf(d model.Dim) extent {
	if d.Value >= 0 {
		return num(d.Value)
	}
	return named(d.Param)
}

func named(name string) extent {
	if len(name) > maxName {
		name = ""
	}
	return extent{name: name}
}

// dim converts an extent; a negative one is a contradiction and becomes unknown.
func (e extent) dim() model.Dim {
	if e.known && e.n >= 0 {
		return model.Known(e.n)
	}
	return model.Symbolic(e.name)
}

// is reports whether the extent is certainly n.
func (e extent) is(n int64) bool { return e.known && e.n == n }

// same reports whether two extents are certainly equal.
func (e extent) same(o extent) bool {
	return e.known && o.known && e.n == o.n || !e.known && !o.known && e.name == o.name && e.name != ""
}

// differs reports whether two extents are certainly different.
func (e extent) differs(o extent) bool { return e.known && o.known && e.n != o.n }

// meet returns what two statements about one extent say together: nothing if they contradict
// each other.
func (e extent) meet(o extent) extent {
	switch {
	case e.differs(o):
		return extent{}
	case e.known, !o.known && e.name != "":
		return e
	}
	return o
}

// plus returns e+c.
func (e extent) plus(c int64) extent {
	if e.known {
		sum := e.n + c
		if (sum > e.n) != (c > 0) && c != 0 {
			return extent{}
		}
		return num(sum)
	}
	base, was := e.constant()
	sum := num(was).plus(c)
	switch {
	case e.name == "" || !sum.known:
		return extent{}
	case sum.n == 0:
		return named(base)
	case sum.n > 0:
		base += "+"
	}
	return named(base + strconv.FormatInt(sum.n, 10))
}

// constant splits an expression into a term and a constant added to it.
func (e extent) constant() (base string, c int64) {
	if i := strings.LastIndexAny(e.name, "+-"); i > 0 && !strings.ContainsAny(e.name[i:], "()") {
		if c, err := strconv.ParseInt(e.name[i:], 10, 32); err == nil && balanced(e.name[:i]) {
			return e.name[:i], c
		}
	}
	return e.name, 0
}

// balanced reports whether each parenthesis of an expression is closed in it.
func balanced(text string) bool {
	return strings.Count(text, "(") == strings.Count(text, ")")
}

// times returns e*c.
func (e extent) times(c int64) extent {
	switch {
	case e.known:
		high, low := bits.Mul64(magnitude(e.n), magnitude(c))
		if high != 0 || low > 1<<62 {
			return extent{}
		}
		return num(e.n * c)
	case c == 0:
		return num(0)
	case c == 1 || e.name == "":
		return e
	case c < 0:
		return extent{}
	}
	return named(e.factor() + "*" + strconv.FormatInt(c, 10))
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// factor is the expression as an operand of * and /.
func (e extent) factor() string {
	if strings.ContainsAny(e.name, "+-*/ ") && !e.isFloor() {
		return "(" + e.name + ")"
	}
	return e.name
}

// isFloor reports whether the expression is a single floor(...).
func (e extent) isFloor() bool {
	inside, begins := strings.CutPrefix(e.name, "floor(")
	inside, ends := strings.CutSuffix(inside, ")")
	if !begins || !ends {
		return false
	}
	depth := 0
	for _, c := range inside {
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth < 0 {
				return false
			}
		}
	}
	return depth == 0
}

// over returns e/c, rounded down; c must be positive.
func (e extent) over(c int64) extent {
	switch {
	case c < 1:
		return extent{}
	case e.known:
		q := e.n / c
		if e.n%c < 0 {
			q--
		}
		return num(q)
	case c == 1 || e.name == "":
		return e
	}
	return named("floor(" + e.factor() + "/" + strconv.FormatInt(c, 10) + ")")
}

// overUp returns e/c, rounded up.
func (e extent) overUp(c int64) extent { return e.plus(c - 1).over(c) }

// add returns the sum of two extents.
func (e extent) add(o extent) extent {
	switch {
	case o.known:
		return e.plus(o.n)
	case e.known:
		return o.plus(e.n)
	case e.name == "" || o.name == "":
		return extent{}
	}
	return named(e.name + "+" + o.name)
}

// mul returns the product of two extents.
func (e extent) mul(o extent) extent {
	switch {
	case o.known:
		return e.times(o.n)
	case e.known:
		return o.times(e.n)
	case e.name == "" || o.name == "":
		return extent{}
	}
	return named(e.factor() + "*" + o.factor())
}

// product returns the product of extents.
func product(list []extent) extent {
	p := num(1)
	for _, e := range list {
		if e.is(0) {
			return e
		}
		p = p.mul(e)
	}
	return p
}

// broadcast returns the extents of operands together, as NumPy broadcasts them. Operands that
// contradict each other make an extent unknown.
func broadcast(shapes ...[]extent) []extent {
	var out []extent
	for _, s := range shapes {
		a, b := out, s
		if len(a) < len(b) {
			a, b = b, a
		}
		out = append([]extent(nil), a...)
		for i, d := range b {
			k := len(a) - len(b) + i
			out[k] = spread(out[k], d)
		}
	}
	return out
}

// spread returns the common extent of two operands.
func spread(a, b extent) extent {
	switch {
	case b.is(1), a.same(b):
		return a
	case a.is(1):
		return b
	case a.known && b.known:
		return extent{}
	case a.known && a.n != 1:
		return a // the other is 1, or the same
	case b.known:
		return b
	}
	return extent{}
}
