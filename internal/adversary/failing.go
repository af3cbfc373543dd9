package adversary

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/restride/restride/cuda"
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/cudasim"
	"github.com/restride/restride/internal/graphs"
	"github.com/restride/restride/tensor"
)

func init() {
	register(Generator{
		Name:      "failing",
		About:     "servers, while calls of the driver fail: each run is right or has the driver's error, and all are right afterwards",
		Simulated: true,
		Try:       tryFailing,
	})
}

// simulated reports whether a device's driver is the simulator.
func simulated(d device.Device) bool {
	_, err := cudasim.Loaded()
	return d.Info().Backend == "cuda" && err == nil
}

// harmless are codes of failures that leave the context as it is: an invalid value, no memory,
// an operating system's refusal, not supported, unknown.
var harmless = []int{1, 2, 304, 801, 999}

// tryFailing has a device of its own, which two failures in a row may make unusable.
func tryFailing(t *Trial) error {
	knobs, err := cudasim.Loaded()
	if err != nil {
		return err
	}
	own, err := tensor.Open(t.Stream.Device().Info().ID())
	if err != nil {
		return err
	}
	on := *t
	on.Stream = own
	var wrong error
	err = withServers(&on, func(g *graphs.Graph, servers []server) error {
		for i := range servers { // a failure does not reach inputs that are known to be there
			if err := servers[i].stream.Wait(); err != nil {
				return err
			}
		}
		wrong = failing(t.Rand, knobs, g, servers)
		return wrong
	})
	if err = errors.Join(err, own.Close()); wrong == nil && errors.Is(err, cuda.ErrLost) {
		return nil
	}
	return err
}

// failing serves while calls fail, and then without failures.
func failing(rng *rand.Rand, knobs cudasim.Knobs, g *graphs.Graph, servers []server) error {
	stop := fail(knobs, rand.New(rand.NewPCG(rng.Uint64(), 0)))
	err := serve(rng, servers, func(rng *rand.Rand, s *server) error {
		return unlessInjected(request(rng, g, s))
	})
	stop()
	for i := range servers {
		err = errors.Join(err, unlessInjected(servers[i].stream.Wait()))
		if again := request(rng, g, &servers[i]); again != nil && !errors.Is(again, cuda.ErrLost) {
			err = errors.Join(err, fmt.Errorf("after the failures: %w", again))
		}
	}
	return err
}

// fail makes calls of the driver's functions fail, one after another, until stop is called.
func fail(knobs cudasim.Knobs, rng *rand.Rand) (stop func()) {
	functions := slices.Sorted(maps.Keys(knobs.Calls()))
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		defer knobs.Set("FAIL", "")
		for {
			function, code := functions[rng.IntN(len(functions))], harmless[rng.IntN(len(harmless))]
			knobs.Set("FAIL", fmt.Sprintf("%s=%d:after=%d:times=1", function, code, rng.IntN(10)))
			select {
			case <-end:
				return
			case <-time.After(time.Duration(rng.IntN(2000)) * time.Microsecond):
			}
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}

// unlessInjected returns an error that is not a driver's.
func unlessInjected(err error) error {
	var injected *device.DriverError
	if errors.As(err, &injected) {
		return nil
	}
	return err
}
