package onnx

// patience bounds the edges that partition looks at while it joins groups. What is left
// then runs in more groups than it could.
const patience = 1 << 22

// partition divides the taken nodes of a graph into groups. after has the nodes that use
// what a node makes; all have larger indices. A group is connected, and groups can run
// whole, in some order: with each as one node, the graph has no cycle. That is more than
// that no path leaves a group and comes back, which two groups that wait for each other
// can be said of, too. No two groups that share an edge could be one. It returns the
// group of each node, the first of its nodes; of others -1.
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
	parent  []int   // towards the first node of a group
	members [][]int // of a group, at its first node
	seen    []int   // the search that has last come by a group
	search  int
	left    int // edges, of patience
}

// of returns the first node of a node's group.
func (p *partitioner) of(i int) int {
	for p.parent[i] != i {
		p.parent[i] = p.parent[p.parent[i]]
		i = p.parent[i]
	}
	return i
}

// join makes the groups of two nodes one.
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

// joinLevels joins neighbours of one level. Levels never fall along an edge, and rise
// where one leads from taken nodes to others: what leaves a group comes back to none of
// its level.
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

// joinNeighbours joins groups of different levels where nothing else leads from one to the
// other, and reports whether there were any: these may be in the way of others no longer.
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

// around reports whether a path leads from one group to another by way of others. It is
// not known if patience ends.
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
