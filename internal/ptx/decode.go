package ptx

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// builder makes an instruction from its words.
type builder struct {
	*parser
	in    instr
	name  string
	mods  []string // between name and type, until removed
	kind  string   // the type: its last word
	width int      // of the type
	args  []string
}

var errUnknown = errors.New("unknown instruction")

// decoders make instructions, by the first word of their names.
var decoders map[string]func(*builder) error

func init() {
	decoders = map[string]func(*builder) error{
		"mov": (*builder).mov, "cvta": (*builder).cvta, "cvt": (*builder).cvt,
		"ld": (*builder).load, "ldu": (*builder).load, "st": (*builder).store, "atom": (*builder).atomic, "red": (*builder).atomic,
		"setp": (*builder).setp, "selp": (*builder).selp,
		"bra": (*builder).branch, "ret": (*builder).exit, "exit": (*builder).exit,
		"bar": (*builder).barrier, "barrier": (*builder).barrier,
		"membar": (*builder).nothing, "fence": (*builder).nothing, "prefetch": (*builder).nothing,
		"shfl": (*builder).shuffle, "vote": (*builder).vote, "activemask": (*builder).activemask,
	}
	for _, name := range []string{"add", "sub", "mul", "mad", "fma", "min", "max", "abs", "neg", "div", "rem", "rcp", "sqrt", "copysign"} {
		decoders[name] = (*builder).arithmetic
	}
	for _, name := range []string{"and", "or", "xor", "not", "cnot", "shl", "shr"} {
		decoders[name] = (*builder).bitwise
	}
	for _, name := range []string{"shf", "prmt", "lop3", "bfe", "bfi", "bfind", "clz", "popc", "brev", "dp4a"} {
		decoders[name] = (*builder).field
	}
}

// instruction decodes a statement.
func (p *parser) instruction(statement string) error {
	b := &builder{parser: p, in: instr{guard: -1, dst: [4]int32{-1, -1, -1, -1}, pdst: -1, pa: -1, pb: -1}}
	rest := statement
	if guard, ok := strings.CutPrefix(statement, "@"); ok {
		guard, rest, _ = strings.Cut(guard, " ")
		name, not := strings.CutPrefix(guard, "!")
		r, ok := p.lookup(name)
		if !ok || r.width != 0 {
			return fmt.Errorf("%s is no predicate", name)
		}
		b.in.guard, b.in.not = r.index, not
	}
	opcode, operands, _ := strings.Cut(rest, " ")
	b.args = splitOperands(operands)
	words := strings.Split(opcode, ".")
	b.name, b.mods = words[0], words[1:]
	decode := decoders[b.name]
	if decode == nil {
		return errUnknown
	}
	p.targets = append(p.targets, "")
	if err := decode(b); err != nil {
		return err
	}
	if len(b.mods) > 0 {
		return fmt.Errorf("%w: .%s", errUnknown, b.mods[0])
	}
	p.code, p.text = append(p.code, b.in), append(p.text, statement)
	p.lines, p.weights = append(p.lines, p.line), append(p.weights, weight(opcode))
	return nil
}

// splitOperands splits at commas outside of braces and brackets.
func splitOperands(text string) []string {
	var all []string
	depth, start := 0, 0
	for i, c := range text {
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 0 {
				all = append(all, strings.TrimSpace(text[start:i]))
				start = i + 1
			}
		}
	}
	if last := strings.TrimSpace(text[start:]); last != "" {
		all = append(all, last)
	}
	return all
}

// take removes a modifier if present.
func (b *builder) take(names ...string) bool {
	for _, name := range names {
		if i := slices.Index(b.mods, name); i >= 0 {
			b.mods = slices.Delete(b.mods, i, i+1)
			return true
		}
	}
	return false
}

// one removes the modifier of a list that is present, and returns it.
func (b *builder) one(names ...string) string {
	for _, name := range names {
		if b.take(name) {
			return name
		}
	}
	return ""
}

// typed removes the type and sets its width.
func (b *builder) typed() error {
	if len(b.mods) == 0 {
		return errUnknown
	}
	b.kind, b.mods = b.mods[len(b.mods)-1], b.mods[:len(b.mods)-1]
	if b.kind == "pred" {
		return nil
	}
	var err error
	b.width, err = widthOf(b.kind)
	return err
}

func (b *builder) signed() bool  { return b.kind[0] == 's' }
func (b *builder) isFloat() bool { return b.kind[0] == 'f' || strings.HasPrefix(b.kind, "bf") }

// need checks the number of operands.
func (b *builder) need(n int) error {
	if len(b.args) != n {
		return fmt.Errorf("%w: %d operands", errUnknown, len(b.args))
	}
	return nil
}

// register finds a register of a width; any is 0.
func (b *builder) register(name string, width int) (int32, error) {
	r, ok := b.lookup(name)
	switch {
	case !ok:
		return 0, fmt.Errorf("no register %s", name)
	case r.width == 0 || width != 0 && int(r.width) != width:
		return 0, fmt.Errorf("%s has %d bits, not %d", name, r.width, width)
	}
	return r.index, nil
}

// to sets destination k.
func (b *builder) to(k int, name string, width int) (err error) {
	if name == "_" {
		return nil
	}
	b.in.dst[k], err = b.register(name, width)
	return err
}

// from adds a source: a register, a variable's address or a number.
func (b *builder) from(name string, width int) error {
	k := b.in.n
	b.in.n++
	if _, ok := b.lookup(name); ok {
		var err error
		b.in.src[k], err = b.register(name, width)
		return err
	}
	if at, ok := b.symbols[name]; ok {
		b.in.src[k] = b.constant(at)
		return nil
	}
	n, err := parseNumber(name)
	if width != 0 {
		n &= mask(width)
	}
	b.in.src[k] = b.constant(n)
	return err
}

// constant returns the place of a constant: below 0.
func (b *builder) constant(n uint64) int32 {
	i, ok := b.constants[n]
	if !ok {
		i = int32(len(b.consts))
		b.constants[n] = i
		b.consts = append(b.consts, n)
	}
	return ^i
}

// predicate finds a predicate, or a constant for one.
func (b *builder) predicate(name string) (int32, error) {
	if n, err := parseNumber(name); err == nil {
		return int32(min(n, 1)), nil
	}
	r, ok := b.lookup(name)
	if !ok || r.width != 0 {
		return 0, fmt.Errorf("%s is no predicate", name)
	}
	return r.index, nil
}

// operands reads all operands of a function: the destination, then sources of these widths.
func (b *builder) operands(do alu, to int, from ...int) error {
	if err := b.need(len(from) + 1); err != nil {
		return err
	}
	b.in.kind, b.in.do = kindALU, do
	if do == nil {
		return errUnknown
	}
	errs := []error{b.to(0, b.args[0], to)}
	for i, width := range from {
		errs = append(errs, b.from(b.args[i+1], width))
	}
	return errors.Join(errs...)
}

// vector returns the registers of {a, b}, or the single one without braces.
func vector(operand string) []string {
	inner, ok := strings.CutPrefix(operand, "{")
	if !ok {
		return []string{operand}
	}
	return splitOperands(strings.TrimSuffix(inner, "}"))
}

func (b *builder) mov() error {
	if err := b.typed(); err != nil {
		return err
	}
	if err := b.need(2); err != nil {
		return err
	}
	if b.kind == "pred" {
		return b.logic(func(a, _ uint32) uint32 { return a }, 1)
	}
	if parts := vector(b.args[0]); strings.HasPrefix(b.args[0], "{") {
		b.in.kind = kindSplit
		errs := []error{b.from(b.args[1], b.width)}
		for i, part := range parts {
			errs = append(errs, b.to(i, part, b.width/len(parts)))
		}
		b.in.mem.count = uint8(len(parts))
		b.in.mem.size = uint8(b.width / len(parts)) // in bits
		return errors.Join(errs...)
	}
	if parts := vector(b.args[1]); strings.HasPrefix(b.args[1], "{") {
		b.in.kind, b.in.do = kindALU, pack(b.width/len(parts), len(parts))
		errs := []error{b.to(0, b.args[0], b.width)}
		for _, part := range parts {
			errs = append(errs, b.from(part, b.width/len(parts)))
		}
		return errors.Join(errs...)
	}
	return b.operands(move, b.width, b.width)
}

// cvta converts addresses of a space to generic ones, or back.
func (b *builder) cvta() error {
	if err := b.typed(); err != nil {
		return err
	}
	to := b.take("to")
	offset := map[string]uint64{"global": 0, "const": 0, "shared": sharedWindow, "param": paramWindow}
	at := b.one("global", "const", "shared", "param")
	if at == "" {
		return errUnknown
	}
	if to {
		return b.operands(addConstant(-offset[at]), b.width, b.width)
	}
	return b.operands(addConstant(offset[at]), b.width, b.width)
}

func (b *builder) branch() error {
	if err := b.need(1); err != nil {
		return err
	}
	b.take("uni")
	b.in.kind = kindBranch
	b.targets[len(b.targets)-1] = b.args[0]
	return nil
}

func (b *builder) exit() error {
	b.take("uni")
	b.in.kind = kindExit
	return nil
}

func (b *builder) nothing() error {
	b.mods, b.in.kind = nil, kindNothing
	return nil
}

// barrier is a barrier of all threads of the block, or of a warp.
func (b *builder) barrier() error {
	if b.take("warp") {
		b.take("sync")
		b.in.kind = kindWarpSync
		if err := b.need(1); err != nil {
			return err
		}
		return b.from(b.args[0], 32)
	}
	if !b.take("sync") || len(b.args) != 1 || b.args[0] != "0" {
		return errUnknown
	}
	b.take("cta")
	b.take("aligned")
	b.in.kind = kindBarrier
	return nil
}

// address reads [register+offset], [variable+offset] or [number].
func (b *builder) address(operand string) error {
	inner := strings.TrimSuffix(strings.TrimPrefix(operand, "["), "]")
	if len(inner) != len(operand)-2 {
		return fmt.Errorf("%s is no address", operand)
	}
	base, offset, ok := strings.Cut(inner, "+")
	if ok {
		n, err := strconv.ParseInt(strings.TrimSpace(offset), 0, 64)
		if err != nil {
			return err
		}
		b.in.mem.off = n
	}
	return b.from(strings.TrimSpace(base), 0)
}

// space removes the state space and all cache modifiers.
func (b *builder) space() {
	b.take("weak", "relaxed", "acquire", "release", "volatile", "acq_rel")
	b.take("gpu", "cta", "sys")
	b.in.mem.space = map[string]space{"": generic, "global": global, "const": global, "shared": shared, "param": param}[b.one("global", "const", "shared", "param")]
	b.take("nc")
	b.take("ca", "cg", "cs", "lu", "cv", "wb", "wt")
	for _, prefix := range []string{"L1::", "L2::"} {
		b.mods = slices.DeleteFunc(b.mods, func(m string) bool { return strings.HasPrefix(m, prefix) })
	}
	b.in.mem.count = 1
	switch b.one("v2", "v4") {
	case "v2":
		b.in.mem.count = 2
	case "v4":
		b.in.mem.count = 4
	}
	b.in.mem.size = uint8(b.width / 8)
	b.in.mem.signed = b.signed()
}

func (b *builder) load() error {
	if err := errors.Join(b.typed(), b.need(2)); err != nil {
		return err
	}
	b.space()
	b.in.kind = kindLoad
	parts := vector(b.args[0])
	if len(parts) != int(b.in.mem.count) {
		return errUnknown
	}
	for i, part := range parts {
		if err := b.to(i, part, 0); err != nil {
			return err
		}
		if d := b.in.dst[i]; d >= 0 {
			if int(b.regs[d]) < b.width {
				return fmt.Errorf("%s is too narrow", part)
			}
			b.in.mem.narrow[i] = mask(int(b.regs[d]))
		}
	}
	return b.address(b.args[1])
}

func (b *builder) store() error {
	if err := errors.Join(b.typed(), b.need(2)); err != nil {
		return err
	}
	b.space()
	b.in.kind = kindStore
	parts := vector(b.args[1])
	if len(parts) != int(b.in.mem.count) || b.in.mem.space == param {
		return errUnknown
	}
	if err := b.address(b.args[0]); err != nil {
		return err
	}
	for _, part := range parts {
		if err := b.from(part, 0); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) atomic() error {
	if err := b.typed(); err != nil {
		return err
	}
	result := b.name == "atom"
	args := b.args
	if result {
		if len(args) < 2 {
			return errUnknown
		}
		if err := b.to(0, args[0], b.width); err != nil {
			return err
		}
		args = args[1:]
	}
	name := b.one("add", "and", "or", "xor", "min", "max", "exch", "cas", "inc", "dec")
	b.space()
	values := 1
	if name == "cas" {
		values = 2
	}
	b.in.kind, b.in.atom = kindAtom, atomOf(name, b.width, b.signed())
	b.in.mode = map[string]uint8{"and": modeAnd, "or": modeOr, "xor": modeOr}[name]
	if b.in.atom == nil || b.isFloat() || len(args) != values+1 {
		return errUnknown
	}
	errs := []error{b.address(args[0])}
	for _, value := range args[1:] {
		errs = append(errs, b.from(value, b.width))
	}
	return errors.Join(errs...)
}
