package quant

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// Modules are patterns for the names of modules that are not quantised, as configurations
// list them.
type Modules []modulePattern

// modulePattern is a pattern in the words of a configuration.
type modulePattern struct {
	kind patternKind
	text string
}

type patternKind uint8

const (
	exactly  patternKind = iota // a module, and those in it
	inside                      // a part of modules' names
	globbed                     // whole names, with * and ?
	regexped                    // a regular expression for the start of a name
)

// expression returns a regular expression for names, from their start.
func (m modulePattern) expression() string {
	switch m.kind {
	case inside:
		return ".*" + regexp.QuoteMeta(m.text) + ".*"
	case globbed:
		e := regexp.QuoteMeta(m.text)
		return strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(e) + "$"
	case regexped:
		return m.text
	}
	return regexp.QuoteMeta(m.text) + `(?:\..*)?$`
}

// match reports whether a pattern matches a module. A regular expression that Go's package does
// not read matches nothing.
func (m modulePattern) match(name string) bool {
	switch m.kind {
	case exactly:
		return m.text == name || strings.HasPrefix(name, m.text+".")
	case inside:
		return strings.Contains(name, m.text)
	case globbed:
		ok, err := path.Match(m.text, name)
		if ok && err == nil {
			return true
		}
	}
	e := compiled(m.expression())
	return e != nil && e.MatchString(name)
}

// compiled compiles a regular expression for the start of a name; nil: Go cannot read it.
var compiled = newMemory(func(text string) *regexp.Regexp {
	e, err := regexp.Compile("^(?:" + text + ")")
	if err != nil {
		return nil
	}
	return e
})

// match reports whether one of the patterns matches a module.
func (m Modules) match(name string) bool {
	return slices.ContainsFunc(m, func(p modulePattern) bool { return p.match(name) })
}

// modulesOf are patterns of one kind.
func modulesOf(kind patternKind, texts []string) (out Modules) {
	for _, text := range texts {
		switch kind := kind; {
		case strings.HasPrefix(text, "re:"):
			out = append(out, modulePattern{regexped, strings.TrimPrefix(text, "re:")})
		case strings.ContainsAny(text, "*?") && kind != regexped:
			out = append(out, modulePattern{globbed, text})
		case kind == globbed:
			out = append(out, modulePattern{exactly, text})
		default:
			out = append(out, modulePattern{kind, text})
		}
	}
	return out
}

// unquantisedKeys are the keys of the list of modules that are not quantised, by the
// configuration's quant_method.
var unquantisedKeys = map[string]string{
	"compressed-tensors": "ignore", "modelopt": "ignore", "bitsandbytes": "llm_int8_skip_modules", "hqq": "skip_modules",
}

// Unquantised adds to a configuration, which Weight.Config returned, the modules that are not
// quantised, in the configuration's own words: the source's patterns, if none matches a quantised
// module, and the given names of modules with matrices of numbers. It returns those names that a
// loader may find in the name of a quantised module, where a configuration has parts of names.
func (m Modules) Unquantised(config map[string]any, names, quantised []string) (unclear []string) {
	method, _ := config["quant_method"].(string)
	parts := method != "gptq" && method != "compressed-tensors" && method != "modelopt"
	all := strings.Join(quantised, "\n")
	kept, left := Modules{}, []string{}
	for _, p := range m {
		switch {
		case parts && strings.Contains(all, p.text), slices.ContainsFunc(quantised, p.match):
		case method == "gptq", method == "compressed-tensors", p.kind == exactly,
			p.kind == globbed && method == "modelopt", p.kind == inside && method != "modelopt":
			kept = append(kept, p)
		}
	}
	named := func(name string) bool {
		return slices.ContainsFunc(kept, func(p modulePattern) bool {
			if whole := method == "compressed-tensors" || method == "modelopt"; whole && p.kind == exactly {
				return p.text == name // without the modules in it
			}
			return p.match(name)
		})
	}
	for _, name := range names {
		if !named(name) {
			left = append(left, name)
			if parts && strings.Contains(all, name) {
				unclear = append(unclear, name)
			}
		}
	}
	if len(kept)+len(left) == 0 {
		return nil
	}
	if method == "gptq" {
		dynamic := map[string]any{}
		for _, p := range kept {
			dynamic["-:"+p.expression()] = map[string]any{}
		}
		for _, name := range left {
			dynamic["-:"+regexp.QuoteMeta(name)+"$"] = map[string]any{}
		}
		config["dynamic"] = dynamic
		return nil
	}
	texts := []string{}
	for _, p := range kept {
		if method == "compressed-tensors" && p.kind != exactly {
			p.text = "re:" + p.expression()
		}
		texts = append(texts, p.text)
	}
	key, ok := unquantisedKeys[method]
	if !ok {
		key = "modules_to_not_convert"
	}
	config[key] = append(texts, left...)
	return unclear
}
