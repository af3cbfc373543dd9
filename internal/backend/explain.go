package backend

// Candidate is a planner's answer to an operation.
type Candidate struct {
	Planner string  `json:"planner"`
	Kernel  string  `json:"kernel,omitempty"` // that it offers, or refuses for its cost
	Cost    float64 `json:"cost,omitempty"`   // estimated; 0: no estimate is needed
	Chosen  bool    `json:"chosen"`
	Why     string  `json:"why,omitempty"` // it refuses, or another kernel is chosen
}

// Explanation says how a device carries out an operation, and why.
type Explanation struct {
	Class      string      `json:"class"`  // of a copy, else the operation
	Kernel     string      `json:"kernel"` // that is chosen
	Unit       string      `json:"unit"`   // of costs
	Candidates []Candidate `json:"candidates"`
}

// beaten is why a kernel that was offered is not chosen.
const beaten = "a later candidate is cheaper"

// Choose marks the last candidate that does not refuse as the one that is chosen: as kernel, which may differ
// from what it offered in width or form.
func (e *Explanation) Choose(kernel string) {
	chosen := true
	for i := len(e.Candidates) - 1; i >= 0; i-- {
		c := &e.Candidates[i]
		switch {
		case c.Why != "":
		case chosen:
			c.Kernel, c.Chosen, chosen = kernel, true, false
		default:
			c.Why = beaten
		}
	}
}
