package onnx

import (
	"fmt"
	"slices"

	"github.com/restride/restride/internal/quote"
)

// A Claimer is a Grouper that also runs operators that the session has, within its groups:
// where it fuses them with others, or where they would cut a group in two.
type Claimer interface {
	Grouper
	// Claim says where the engine wants to run a node of an operator that the session has.
	// A session asks once for each.
	Claim(n Node) Claim
}

// Claim is where an engine runs a node that the session could run. The session leaves a node
// to it if the claim allows that and a group with a node of the engine's own takes the node in.
type Claim int

const (
	// ClaimNone leaves the node to the session.
	ClaimNone Claim = iota
	// ClaimBetween applies between nodes of the engine, where the node would end a group, and
	// to nodes of constants, or of shapes on a host stream, that only the engine uses.
	ClaimBetween
	// ClaimOperand also applies where only the engine uses the outputs: it needs them
	// contiguous, or fuses the node with their users.
	ClaimOperand
	// ClaimBeside also applies where the engine makes an input: the node is not a view of it,
	// or the engine fuses it with the input's maker.
	ClaimBeside
	// ClaimBehind also applies anywhere behind the engine's nodes, and takes the nodes between
	// along: for quantization, which engines move through layout operators.
	ClaimBehind
)

// claims decides which nodes of the session's operators the engine keeps, and why.
func (c *compiler) claims() {
	engine, ok := c.provider.(Claimer)
	if !ok {
		return
	}
	k := keeper{c: c, claim: map[*unit]Claim{}, after: map[*unit]bool{}, before: map[*unit]bool{}, constant: map[*unit]bool{}}
	for _, u := range c.nodes {
		if u.engine == nil && u.constant == nil && !u.d.opaque && c.sameOpsets(u) {
			k.claim[u] = engine.Claim(c.nodeOf(u))
		}
		k.constant[u] = !slices.ContainsFunc(u.in, func(name string) bool {
			maker := c.maker[name]
			return name != "" && !k.constant[maker] && (maker != nil || !c.isConstant(name))
		})
	}
	k.between()
	k.operands()
	k.results()
	c.checkClaims()
}

// keeper marks the nodes that an engine keeps.
type keeper struct {
	c             *compiler
	claim         map[*unit]Claim
	after, before map[*unit]bool // nodes behind, and ahead of, nodes of the engine
	constant      map[*unit]bool // nodes of constants alone
}

// engines reports whether the engine runs a node.
func (k *keeper) engines(u *unit) bool {
	return u != nil && (u.claimed != "" || u.engine != nil && k.c.sameOpsets(u))
}

// between keeps nodes on the paths between nodes of the engine.
func (k *keeper) between() {
	from, to := map[*unit]string{}, map[*unit]string{} // a node of the engine on either side
	for _, u := range k.c.nodes {
		for _, name := range u.in {
			if maker := k.c.maker[name]; k.engines(maker) {
				k.after[u], from[u] = true, labelOf(maker)
			} else if maker != nil && k.after[maker] && !k.after[u] {
				k.after[u], from[u] = true, from[maker]
			}
		}
	}
	for _, u := range k.c.nodes {
		if k.claim[u] == ClaimBehind && k.after[u] {
			u.claimed = "behind " + from[u] + ", which the engine fuses it with"
		}
	}
	for _, u := range slices.Backward(k.c.nodes) {
		for _, name := range u.outs {
			for _, use := range k.c.uses[name] {
				if k.engines(use.unit) {
					k.before[u], to[u] = true, labelOf(use.unit)
				} else if use.unit != nil && k.before[use.unit] && !k.before[u] {
					k.before[u], to[u] = true, to[use.unit]
				}
			}
		}
	}
	for _, u := range k.c.nodes {
		if k.claim[u] >= ClaimBetween && k.after[u] && k.before[u] {
			u.claimed = fmt.Sprintf("between %s and %s: the session would run the engine twice", from[u], to[u])
		}
	}
}

// operands keeps nodes that only the engine uses, and that work on no value of it.
func (k *keeper) operands() {
	for _, u := range slices.Backward(k.c.nodes) {
		if k.claim[u] < ClaimBetween || k.after[u] || u.claimed != "" {
			continue
		}
		user, only := k.user(u)
		switch {
		case !only:
		case k.constant[u]:
			u.claimed = "of constants alone, for " + user + ": the engine computes it once"
		case u.host && k.c.p.stream.IsHost():
			u.claimed = "a shape for " + user + " alone, on the host in either"
		case !u.host && k.claim[u] >= ClaimOperand:
			u.claimed = "an operand of " + user + " alone, which the engine fuses it with, or copies it for"
		}
	}
}

// user returns a user of a node's outputs, and reports whether the engine is the only one.
func (k *keeper) user(u *unit) (user string, only bool) {
	for _, name := range u.outs {
		for _, use := range k.c.uses[name] {
			if !k.engines(use.unit) {
				return "", false
			}
			user = labelOf(use.unit)
		}
	}
	return user, user != ""
}

// results keeps nodes beside those of the engine that make their inputs, but not shapes: these
// the session has without elements.
func (k *keeper) results() {
	for _, u := range k.c.nodes {
		if k.claim[u] < ClaimBeside || u.claimed != "" || u.host {
			continue
		}
		for _, name := range u.in {
			if maker := k.c.maker[name]; k.engines(maker) {
				u.claimed = "a result of " + labelOf(maker) + ", which the engine fuses it with, or copies it for"
				break
			}
		}
	}
}

// labelOf names a node in a reason.
func labelOf(u *unit) string {
	if u.node.Name != "" {
		return quote.Name(u.node.Name)
	}
	return fmt.Sprintf("%s of node %d", quote.Plain(u.node.OpType), u.index)
}
