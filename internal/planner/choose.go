package planner

import (
	"errors"

	"github.com/restride/restride/internal/backend"
)

// planner offers a kernel for a problem, or refuses. P is the input that the planners of an
// operation share.
type planner[P any] struct {
	name string
	// compares: the planner compares its kernel with the best earlier offer. Other planners
	// are asked only if there is no offer.
	compares bool
	// If an offer comes with a refusal, the offer is the kernel that was compared.
	plan func(of P, best *offer) (offer, refusal)
}

// offer is a kernel that a planner offers.
type offer struct {
	spec   Spec    // form none: there is no offer
	cycles float64 // estimated; 0: no estimate is needed
	// lay sets the parameters of a launch. On errWithdrawn, there is no room for them, and
	// planners are asked again.
	lay func(k *parameters) (Spec, error)
}

// some reports whether there is an offer.
func (o *offer) some() bool { return o.spec.Form != none }

// laid returns an offer whose parameters are already set.
func laid(spec Spec, set *parameters, err error) (offer, refusal) {
	return offer{spec: spec, lay: func(k *parameters) (Spec, error) {
		*k = *set
		return spec, err
	}}, ""
}

// errWithdrawn is returned by an offer's lay; its planner then refuses.
var errWithdrawn = errors.New("no room for the parameters")

// refusal is the reason why a planner refuses.
type refusal string

const (
	notNeeded    refusal = "an earlier kernel does it"
	costsMore    refusal = "it costs more than the best kernel before it"
	nearRoof     refusal = "the best kernel before it is nearly as fast as memory"
	noRoom       refusal = "no room for its parameters"
	onlyCPU      refusal = "only targets that are CPUs have it"
	onlyGPU      refusal = "targets that are CPUs do not have it"
	packedOnly   refusal = "on CPUs it is for elements below a byte"
	oneAxis      refusal = "it needs two axes"
	tooManyAxes  refusal = "too many axes for the parameters of a launch"
	otherWidth   refusal = "there is none for this width of elements"
	notDense     refusal = "the destination's elements are not neighbours along its innermost axis"
	notTurned    refusal = "both sides are densest along the same axis"
	sourceGaps   refusal = "the source has no neighbours along its densest axis"
	sourceRows   refusal = "the source's elements are neighbours along the destination's rows"
	shortAxes    refusal = "an axis is too short"
	longAxes     refusal = "an axis is too long for 32-bit arithmetic"
	repeatsAxis  refusal = "the source repeats elements"
	repeatsNone  refusal = "the source repeats no elements along an outer axis of long rows"
	notScattered refusal = "a line of the destination comes from few places"
	noWords      refusal = "powers of two of elements do not fill words on both sides"
	noTile       refusal = "no tile of such words has room"
	noMatrices   refusal = "the sides are not matrices that follow each other"
	noFields     refusal = "elements are not fields of a few bits at a small pitch"
	tooFewFields refusal = "there are too few fields in a row"
	noStamps     refusal = "rows are not short ones that the source repeats"
	noPeriods    refusal = "rows do not come in periods that pay"
	wideElements refusal = "it is for narrower elements, dense in the destination"
	wholeSectors refusal = "partly written sectors cost less than chunks do"
	notRows      refusal = "rows are not dense on both sides, or too short"
	isMapped     refusal = "a table is looked up"
	notInCommon  refusal = "rows have no indices in common"
	sharedTerms  refusal = "rows are not of whole items with terms in common"
	notBlended   refusal = "rows are not dense or of one element on each side"
	notByColumns refusal = "indices do not depend on one long innermost axis alone"
	fewRepeats   refusal = "blocks have too few elements for each index"
	notNear      refusal = "indices are not neighbours, or reach too far"
	notReduced   refusal = "elements are not reduced"
	onlyTakes    refusal = "puts do not have it"
)

// choose asks the planners in order. The last offer wins.
func choose[P any](all []planner[P], of P, p *problem, k *parameters) (Spec, error) {
	for {
		var best offer
		p.forget()
		for i := range all {
			x := &all[i]
			next, why := offer{}, notNeeded
			if x.compares || !best.some() {
				next, why = x.plan(of, &best)
			}
			if why == "" {
				best = next
			}
			p.note(x.name, &next, why)
		}
		spec, err := best.lay(k)
		if err == errWithdrawn {
			*k = parameters{}
			continue
		}
		return spec, err
	}
}

// forget drops the noted candidates.
func (p *problem) forget() {
	if p.notes != nil {
		*p.notes = (*p.notes)[:0]
	}
}

// note adds a candidate if an explanation was requested.
func (p *problem) note(name string, o *offer, why refusal) {
	if p.notes == nil {
		return
	}
	c := backend.Candidate{Planner: name, Cost: o.cycles, Why: string(why)}
	if o.some() {
		c.Kernel = o.spec.kernel()
	}
	*p.notes = append(*p.notes, c)
}
