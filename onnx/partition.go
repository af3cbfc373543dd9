package onnx

// patience is the maximum number of edges that partition visits while it joins groups.
// Beyond that, the nodes run in more groups than necessary.
const patience = 1 << 22

// partition divides the taken nodes of a graph into groups. after lists, for each node, the
// nodes that use its output; all have larger indices. A group is connected, and the groups
// can run whole in some order: the graph with each group as one node has no cycle. This is
// stricter than the condition that no path leaves a group and comes back: two groups that
// wait for each other satisfy that. No two groups that share an edge could be merged.
// partition returns each node's group, named by its first node, and -1 for other nodes.
func partition(after [][]int, taken []bool) []int {
	p := partitioner{after: after, taken: taken, parent: make([]int, len(after)), members: make([][]int, len(after)), seen: make([]int, len(after)), left: patience}
	for i := range p.parent {
		p.parent[i], p.members[i] = i, []int{i}
	}
	p.joinLevels()
	for p.joinNeighbours() {
	}
	groups := make([]int, len(after))
	for i := range groups {
		if groups[i] = -1; taken[i] {
			groups[i] = p.of(i)
		}
	}
	return groups
}

type partitioner struct {
	after   [][]int
	taken   []bool
	parent  []int   // leads to the first node of a group
	members [][]int // nodes of a group, at its first node
	seen    []int   // the last search that visited a group
	search  int
	left    int // remaining edges of patience
}

// of returns the first node of a node's group.
func (p *partitioner) of(i int) int {
	for p.parent[i] != i {
		p.parent[i] = p.parent[p.parent[i]]
		i = p.parent[i]
	}
	return i
}

// join merges the groups of two nodes.
func (p *partitioner) join(i, j int) {
	i, j = p.of(i), p.of(j)
	if i == j {
		return
	}
	if j < i {
		i, j = j, i
	}
	p.parent[j] = i
	p.members[i] = append(p.members[i], p.members[j]...)
	p.members[j] = nil
}

// joinLevels joins neighbours of the same level. Levels never fall along an edge, and rise
// along edges from taken nodes to others: a path that leaves a group never comes back to a
// group of its level.
func (p *partitioner) joinLevels() {
	level := make([]int, len(p.after))
	for i, after := range p.after {
		for _, j := range after {
			next := level[i]
			if p.taken[i] && !p.taken[j] {
				next++
			}
			level[j] = max(level[j], next)
		}
	}
	for i, after := range p.after {
		for _, j := range after {
			if p.taken[i] && p.taken[j] && level[i] == level[j] {
				p.join(i, j)
			}
		}
	}
}

// joinNeighbours joins groups of different levels if no other path leads from one to the
// other. It reports whether it joined any: they may have blocked others.
func (p *partitioner) joinNeighbours() (joined bool) {
	for i, after := range p.after {
		for _, j := range after {
			if !p.taken[i] || !p.taken[j] || p.of(i) == p.of(j) {
				continue
			}
			if around, known := p.around(p.of(i), p.of(j)); !known {
				return false
			} else if !around {
				p.join(i, j)
				joined = true
			}
		}
	}
	return joined
}

// around reports whether a path leads from one group to another through other groups. The
// result is unknown if patience runs out.
func (p *partitioner) around(from, to int) (around, known bool) {
	p.search++
	p.seen[from] = p.search
	for stack := []int{from}; len(stack) > 0; {
		group := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, i := range p.members[group] {
			if p.left -= len(p.after[i]); p.left < 0 {
				return false, false
			}
			for _, j := range p.after[i] {
				switch next := p.of(j); {
				case next == to && group != from:
					return true, true
				case next != to && p.seen[next] != p.search:
					p.seen[next] = p.search
					stack = append(stack, next)
				}
			}
		}
	}
	return false, true
}
