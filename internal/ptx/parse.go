package ptx

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// Program is a kernel, made ready to run.
type Program struct {
	Name    string
	Threads int // in a block, at most
	Params  []Param

	code    []instr
	text    []string  // of each instruction
	lines   []int     // the same, from 1 on
	weights []float64 // what they cost
	shared  int64     // bytes of shared memory
	data    []byte    // variables with values, at dataBase
	regs    []uint8   // widths of registers, in bits
	consts  []uint64  // which follow the registers
	preds   int
	idle    sync.Pool // of *block: states of earlier runs
}

// Param is a parameter of a kernel: its place in the parameter space.
type Param struct{ Offset, Size int64 }

// dataBase is the address of the program's own variables in global memory: beyond all
// allocations.
const dataBase = 1 << 62

// register is the meaning of a name: a predicate or another register.
type register struct {
	index int32
	width uint8 // in bits; 0: a predicate
}

type parser struct {
	*Program
	scopes    []map[string]register
	symbols   map[string]uint64 // addresses of variables and parameters
	labels    map[string]int32
	constants map[uint64]int32 // by value, their place in consts
	targets   []string         // of each instruction: the label that it goes to
	special   map[string]int32
	line      int
}

// Parse reads a module with one kernel.
func Parse(text []byte) (*Program, error) {
	p := &parser{
		Program: &Program{}, scopes: []map[string]register{{}},
		symbols: map[string]uint64{}, labels: map[string]int32{}, constants: map[uint64]int32{}, special: map[string]int32{},
	}
	p.preds = 2 // never and always
	for i, name := range specials {
		p.special[name] = int32(i)
		p.regs = append(p.regs, 32)
	}
	if err := p.statements(string(text)); err != nil {
		return nil, fmt.Errorf("ptx: line %d: %w", p.line, err)
	}
	for i, label := range p.targets {
		if label == "" {
			continue
		}
		at, ok := p.labels[label]
		if !ok {
			return nil, fmt.Errorf("ptx: no label %s", label)
		}
		p.code[i].target = at
	}
	if p.Name == "" {
		return nil, fmt.Errorf("ptx: no kernel")
	}
	p.finish()
	return p.Program, nil
}

// Lines are the line numbers of the instructions in the text, from 1 on.
func (p *Program) Lines() []int { return p.lines }

// finish assigns constants their places behind the registers.
func (p *parser) finish() {
	for i := range p.code {
		in := &p.code[i]
		for k, s := range in.src {
			if s < 0 {
				in.src[k] = int32(len(p.regs)) + ^s
			}
		}
	}
	// A thread that runs past the last instruction is done.
	p.code, p.text = append(p.code, instr{kind: kindExit, guard: -1}), append(p.text, "the end")
	p.lines, p.weights = append(p.lines, p.line), append(p.weights, 0)
}

// statements splits a module: a statement ends with a semicolon, a label with a colon,
// a scope begins and ends with braces.
func (p *parser) statements(text string) error {
	p.line = 1
	for {
		text = p.space(text)
		switch {
		case text == "":
			return nil
		case text[0] == '{':
			p.scopes = append(p.scopes, map[string]register{})
			text = text[1:]
			continue
		case text[0] == '}':
			if len(p.scopes) == 1 {
				return fmt.Errorf("a brace closes nothing")
			}
			p.scopes = p.scopes[:len(p.scopes)-1]
			text = text[1:]
			continue
		}
		length, err := p.statement(text)
		if err != nil {
			return err
		}
		p.line += strings.Count(text[:length], "\n")
		text = text[length:]
	}
}

// space skips white space and comments.
func (p *parser) space(text string) string {
	for {
		trimmed := strings.TrimLeft(text, " \t\r\n")
		p.line += strings.Count(text[:len(text)-len(trimmed)], "\n")
		text = trimmed
		switch {
		case strings.HasPrefix(text, "//"):
			_, text, _ = strings.Cut(text, "\n")
			p.line++
		case strings.HasPrefix(text, "/*"):
			comment, rest, _ := strings.Cut(text, "*/")
			p.line += strings.Count(comment, "\n")
			text = rest
		default:
			return text
		}
	}
}

// statement reads a statement, and returns its length.
func (p *parser) statement(text string) (int, error) {
	line, _, _ := strings.Cut(text, "\n")
	word := strings.Fields(line)[0]
	switch word {
	case ".version", ".target", ".address_size", ".maxntid", ".minnctapersm", ".reqntid", ".maxnreg", ".file", ".loc", ".section":
		return len(line), p.directive(strings.TrimSuffix(line, ";"))
	case ".visible", ".entry", ".weak":
		if strings.Contains(line, ".entry") {
			return p.entry(text)
		}
	}
	if strings.HasSuffix(word, ":") {
		label := strings.TrimSuffix(word, ":")
		if _, ok := p.labels[label]; ok {
			return 0, fmt.Errorf("the label %s is there twice", label)
		}
		p.labels[label] = int32(len(p.code))
		return len(word), nil
	}
	statement, _, ok := strings.Cut(text, ";")
	if !ok {
		return 0, fmt.Errorf("no end: %q", line)
	}
	length := len(statement) + 1
	if before, _, cut := strings.Cut(statement, "//"); cut {
		return 0, fmt.Errorf("a comment in a statement: %q", before)
	}
	statement = strings.Join(strings.Fields(statement), " ")
	if err := p.declareOrDecode(statement); err != nil {
		return 0, fmt.Errorf("%s: %w", statement, err)
	}
	return length, nil
}

func (p *parser) declareOrDecode(statement string) error {
	if !strings.HasPrefix(statement, ".") && !strings.HasPrefix(statement, "extern") {
		return p.instruction(statement)
	}
	words := strings.Fields(statement)
	switch words[0] {
	case ".pragma":
		return nil
	case ".reg":
		return p.registers(words[1], strings.Join(words[2:], ""))
	}
	return p.variable(words)
}

func (p *parser) directive(line string) error {
	words := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' || r == ',' })
	if words[0] == ".maxntid" || words[0] == ".reqntid" {
		p.Threads = 1
		for _, word := range words[1:] {
			n, err := strconv.Atoi(word)
			if err != nil {
				return err
			}
			p.Threads *= n
		}
	}
	return nil
}

// entry reads the head of a kernel: its name and parameters.
func (p *parser) entry(text string) (int, error) {
	head, _, ok := strings.Cut(text, ")")
	name, list, ok2 := strings.Cut(head, "(")
	if !ok || !ok2 {
		return 0, fmt.Errorf("a kernel without parameters")
	}
	words := strings.Fields(name)
	if p.Name != "" {
		return 0, fmt.Errorf("a second kernel, %s", words[len(words)-1])
	}
	p.Name = words[len(words)-1]
	at := int64(0)
	for _, param := range strings.Split(list, ",") {
		words := strings.Fields(param)
		if len(words) == 0 {
			continue
		}
		v, err := parseVariable(words)
		if err != nil {
			return 0, err
		}
		at = (at + v.align - 1) / v.align * v.align
		p.symbols[v.name] = uint64(at)
		p.Params = append(p.Params, Param{at, v.size})
		at += v.size
	}
	return len(head) + 1, nil
}

// registers declares %r<5>, or a list of names.
func (p *parser) registers(kind, names string) error {
	width, err := widthOf(strings.TrimPrefix(kind, "."))
	if err != nil && kind != ".pred" {
		return err
	}
	scope := p.scopes[len(p.scopes)-1]
	declare := func(name string) {
		r := register{width: uint8(width)}
		if kind == ".pred" {
			r.index = int32(p.preds)
			p.preds++
		} else {
			r.index = int32(len(p.regs))
			p.regs = append(p.regs, r.width)
		}
		scope[name] = r
	}
	for name := range strings.SplitSeq(names, ",") {
		prefix, count, many := strings.Cut(name, "<")
		if !many {
			declare(name)
			continue
		}
		n, err := strconv.Atoi(strings.TrimSuffix(count, ">"))
		if err != nil {
			return err
		}
		for i := range n {
			declare(prefix + strconv.Itoa(i))
		}
	}
	return nil
}

// lookup finds a register by its name.
func (p *parser) lookup(name string) (register, bool) {
	for i := len(p.scopes) - 1; i >= 0; i-- {
		if r, ok := p.scopes[i][name]; ok {
			return r, true
		}
	}
	i, ok := p.special[name]
	return register{i, 32}, ok
}

// variable is a declaration in a state space.
type variable struct {
	space, name       string
	align, size, unit int64
}

// parseVariable reads [.visible] .space [.align n] .type name[n], without values.
func parseVariable(words []string) (v variable, err error) {
	v.size = 1
	for i := 0; i < len(words); i++ {
		word := words[i]
		switch {
		case word == ".align":
			i++
			if i < len(words) {
				v.align, err = strconv.ParseInt(words[i], 10, 64)
			}
		case word == ".ptr" || word == ".visible" || word == ".weak" || word == ".extern":
		case word == ".shared" || word == ".global" || word == ".const" || word == ".param" || word == ".local":
			if v.space == "" {
				v.space = word[1:]
			}
		case strings.HasPrefix(word, "."):
			bits, err := widthOf(word[1:])
			if err != nil {
				return v, err
			}
			v.unit = int64(bits / 8)
		default:
			name, count, array := strings.Cut(word, "[")
			v.name = name
			if array {
				v.size, err = strconv.ParseInt(strings.TrimSuffix(count, "]"), 10, 64)
			}
		}
		if err != nil {
			return v, err
		}
	}
	if v.space == "" || v.name == "" || v.unit == 0 {
		return v, fmt.Errorf("not a variable: %q", strings.Join(words, " "))
	}
	v.size *= v.unit
	v.align = max(v.align, v.unit)
	return v, nil
}

// variable declares shared memory, or a table in constant or global memory.
func (p *parser) variable(words []string) error {
	head, values, _ := strings.Cut(strings.Join(words, " "), "=")
	v, err := parseVariable(strings.Fields(head))
	if err != nil {
		return err
	}
	align := func(at int64) int64 { return (at + v.align - 1) / v.align * v.align }
	switch v.space {
	case "shared":
		at := align(p.shared)
		p.symbols[v.name], p.shared = uint64(at), at+v.size
		return nil
	case "global", "const":
	default:
		return fmt.Errorf("unknown: variables in the space %s", v.space)
	}
	at := align(int64(len(p.data)))
	p.symbols[v.name] = dataBase + uint64(at)
	p.data = append(p.data, make([]byte, at+v.size-int64(len(p.data)))...)
	for value := range strings.SplitSeq(strings.Trim(values, " {}"), ",") {
		if value = strings.TrimSpace(value); value == "" {
			continue
		}
		n, err := parseNumber(value)
		if err != nil {
			return err
		}
		for i := range v.unit {
			p.data[at+i] = byte(n >> (8 * i))
		}
		at += v.unit
	}
	return nil
}

// widthOf returns the bits of a type such as u32 or f16x2.
func widthOf(name string) (int, error) {
	bits := strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyz")
	number, pair, two := strings.Cut(bits, "x")
	n, err := strconv.Atoi(number)
	if err != nil || n < 8 || n > 64 || two && pair != "2" {
		return 0, fmt.Errorf("unknown: the type %q", name)
	}
	if two {
		n *= 2
	}
	return n, nil
}

// parseNumber reads an immediate value: an integer, or the bits of a float.
func parseNumber(word string) (uint64, error) {
	for prefix, digits := range map[string]int{"0f": 8, "0F": 8, "0d": 16, "0D": 16} {
		if hex, ok := strings.CutPrefix(word, prefix); ok && len(hex) == digits {
			return strconv.ParseUint(hex, 16, 64)
		}
	}
	word = strings.TrimSuffix(word, "U")
	if strings.HasPrefix(word, "-") {
		n, err := strconv.ParseInt(word, 0, 64)
		return uint64(n), err
	}
	return strconv.ParseUint(word, 0, 64)
}
