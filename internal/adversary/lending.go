package adversary

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/restride/restride/device"
	"github.com/restride/restride/tensor"
)

func init() {
	register(Generator{
		Name: "lending", About: "goroutines that lend, share, adopt, view, keep and release memory while others close scopes and streams",
		Try: tryLending,
	})
}

// The number of goroutines, of loans of each in turn, and the most steps of a loan.
const (
	borrowers = 4
	loans     = 25
	loanSteps = 10
)

// lending is shared by the goroutines of a try.
type lending struct {
	streams []*tensor.Stream // two of the device, and the host's
	numbers atomic.Uint32    // of loans: the content of their memory

	mu     sync.Mutex
	scopes []*tensor.Scope
	// settled are called when all tensors are released: each returns nil if memory was returned
	// exactly as often as required.
	settled []func() error
}

// borrower is one of the goroutines.
type borrower struct {
	*lending
	rng *rand.Rand
}

func tryLending(t *Trial) error {
	dev := t.Stream.Device()
	live, goroutines := dev.Stats().Live, runtime.NumGoroutine()
	second, err := tensor.NewStream(dev)
	if err != nil {
		return err
	}
	l := &lending{streams: []*tensor.Stream{t.Stream, second, tensor.Host()}}
	var all sync.WaitGroup
	errs := make([]error, borrowers)
	for i := range borrowers {
		b := borrower{l, rand.New(rand.NewPCG(t.Rand.Uint64(), uint64(i)))}
		all.Go(func() { errs[i] = b.run() })
	}
	all.Wait()
	for _, sc := range l.scopes {
		errs = append(errs, sc.Close())
	}
	for _, s := range l.streams {
		errs = append(errs, s.Wait())
	}
	errs = append(errs, second.Close())
	l.check(func() error { // some tell owners, and return capsules
		if now := runtime.NumGoroutine(); now > goroutines {
			return fmt.Errorf("there were %d goroutines, and are %d", goroutines, now)
		}
		return nil
	})
	l.check(func() error {
		if now := dev.Stats().Live; now != live {
			return fmt.Errorf("%d bytes were in use, and %d are", live, now)
		}
		return nil
	})
	return errors.Join(append(errs, soon(l.settled))...)
}

// lateness is the longest delay of notifications of owners, which goroutines make.
var lateness = time.Second

// soon calls checks until all succeed, or it is too late.
func soon(checks []func() error) error {
	for late := time.Now().Add(lateness); ; time.Sleep(5 * time.Millisecond) {
		for len(checks) > 0 && checks[0]() == nil {
			checks = checks[1:]
		}
		if len(checks) == 0 {
			return nil
		}
		if time.Now().After(late) {
			return checks[0]()
		}
	}
}

// run has one loan after the other.
func (b borrower) run() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	for range loans {
		o, err := b.begin()
		for range b.rng.IntN(loanSteps) {
			if err == nil {
				err = b.step(o)
			}
		}
		if err = errors.Join(err, o.end()); err != nil {
			return fmt.Errorf("%s: %w", o.what, err)
		}
	}
	return nil
}

func (b borrower) stream() *tensor.Stream { return b.streams[b.rng.IntN(2)] }

// scope opens a scope of any stream, or closes any.
func (b borrower) scope() error {
	s := b.streams[b.rng.IntN(len(b.streams))]
	b.mu.Lock()
	if n := len(b.scopes); n == 0 || b.rng.IntN(2) == 0 {
		b.scopes = append(b.scopes, tensor.NewScope(s))
		b.mu.Unlock()
		return nil
	}
	i := b.rng.IntN(len(b.scopes))
	sc := b.scopes[i]
	b.scopes[i] = b.scopes[len(b.scopes)-1]
	b.scopes = b.scopes[:len(b.scopes)-1]
	b.mu.Unlock()
	return sc.Close()
}

// check is called when everything is released.
func (l *lending) check(settled func() error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settled = append(l.settled, settled)
}

// loan is memory, and the tensors over it. All of its words are equal, so that every view shows
// the same.
type loan struct {
	what string
	word [4]byte
	refs []*ref
	end  func() error
}

// ref is a tensor over a loan's memory. Unless it is kept, other goroutines may have
// released it.
type ref struct {
	x    *tensor.Tensor
	kept bool
}

// may checks the error of a call on the tensor.
func (r *ref) may(err error) error {
	if errors.Is(err, tensor.ErrReleased) && !r.kept {
		return nil
	}
	return err
}

// shows checks that memory has only the loan's words.
func (o *loan) shows(got []byte) error {
	if want := bytes.Repeat(o.word[:], len(got)/4); !bytes.Equal(got, want) {
		return fmt.Errorf("the memory has %x; %x was written", got, want)
	}
	return nil
}

// read reads a tensor.
func (o *loan) read(r *ref) error {
	got, err := r.x.Bytes()
	if err != nil {
		return r.may(err)
	}
	return o.shows(got)
}

// add records the result of a call on a reference.
func (o *loan) add(from *ref, x *tensor.Tensor, err error) error {
	if err != nil {
		return from.may(err)
	}
	o.refs = append(o.refs, &ref{x: x})
	return nil
}

// release releases all references.
func (o *loan) release() error {
	var errs []error
	for _, r := range o.refs {
		errs = append(errs, o.read(r), r.x.Release())
	}
	o.refs = nil
	return errors.Join(errs...)
}

// step is a call on a loan, or one that ends a scope.
func (b borrower) step(o *loan) error {
	if len(o.refs) == 0 {
		return b.scope()
	}
	i := b.rng.IntN(len(o.refs))
	r := o.refs[i]
	switch b.rng.IntN(9) {
	case 0, 1:
		return b.scope()
	case 2:
		return b.view(o, r)
	case 3:
		err := tensor.Keep(r.x)
		if err == nil {
			r.kept = true
			return nil
		}
		return r.may(err)
	case 4:
		x, err := r.x.Retain()
		if err != nil {
			return r.may(err)
		}
		o.refs = append(o.refs, &ref{x, true})
		return nil
	case 5:
		o.refs = append(o.refs[:i], o.refs[i+1:]...)
		return r.x.Release()
	case 6:
		return b.elsewhere(o, r)
	case 7:
		return b.capsule(o, r)
	}
	return o.read(r)
}

// view makes another tensor of the memory, or of a copy of it.
func (b borrower) view(o *loan, r *ref) error {
	switch b.rng.IntN(4) {
	case 0:
		x, err := r.x.Transpose()
		return o.add(r, x, err)
	case 1:
		x, err := r.x.Slice(0, 1, 3, 1)
		return o.add(r, x, err)
	case 2:
		x, err := r.x.To(b.stream())
		return o.add(r, x, err)
	}
	x, err := r.x.Clone()
	return o.add(r, x, err)
}

// elsewhere has its own stream, which is closed before the tensor on it is released.
func (b borrower) elsewhere(o *loan, r *ref) error {
	s, err := tensor.NewStream(r.x.Stream().Device())
	if err != nil {
		return err
	}
	sc := tensor.NewScope(s)
	x, err := r.x.To(s)
	err = r.may(err)
	if x != nil {
		err = o.read(&ref{x: x, kept: true})
	}
	if b.rng.IntN(2) == 0 {
		return errors.Join(err, sc.Close(), s.Close())
	}
	return errors.Join(err, s.Close(), x.Release(), sc.Close())
}

// number sets the content of a loan's memory.
func (b borrower) number(what string) *loan {
	o := &loan{what: what, end: func() error { return nil }}
	binary.LittleEndian.PutUint32(o.word[:], b.numbers.Add(1))
	return o
}

// unsupported reports whether a device cannot lend memory in a certain way.
func unsupported(err error) bool { return errors.Is(err, device.ErrUnsupported) }
