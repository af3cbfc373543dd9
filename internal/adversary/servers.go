package adversary

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/restride/restride/internal/graphs"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/tensor"
)

func init() {
	register(Generator{
		Name:  "servers",
		About: "16 goroutines that run one model, with functions and loops, in sessions on two streams, and give up some of the runs",
		Try:   tryServer,
	})
}

// The number of goroutines, and of runs of each in turn.
const (
	clients  = 16
	requests = 4
)

var errGivenUp = errors.New("the client has given up")

// server is a session and its inputs on one stream.
type server struct {
	stream *tensor.Stream
	sess   *onnx.Session
	in     onnx.Values
}

func tryServer(t *Trial) error {
	return withServers(t, func(g *graphs.Graph, servers []server) error {
		return serve(t.Rand, servers, func(rng *rand.Rand, s *server) error { return request(rng, g, s) })
	})
}

// withServers calls f with sessions of a random model on two streams. f may be left out: not
// every random model has a session.
func withServers(t *Trial, f func(*graphs.Graph, []server) error) (err error) {
	g := graphs.Random(t.Rand, graphs.Limits{Nodes: 1 + t.Rand.IntN(20), Ranks: t.Rand.IntN(6)})
	graphs.Outline(t.Rand, g, t.Rand.IntN(4))
	second, err := tensor.NewStream(t.Stream.Device())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, second.Close()) }()
	first, err := load(t, g)
	var missing *onnx.MissingError
	if errors.As(err, &missing) {
		return nil // see tryGraph
	}
	if err != nil {
		return err
	}
	other, err := first.On(second)
	if err != nil {
		return errors.Join(err, first.Close())
	}
	servers := []server{{sess: first}, {sess: other}}
	for i, s := range []*tensor.Stream{t.Stream, second} {
		on := *t
		on.Stream = s
		servers[i].stream = s
		var fed error
		servers[i].in, fed = feed(&on, g, true)
		err = errors.Join(err, fed)
	}
	if err == nil {
		err = f(g, servers)
	}
	for _, s := range servers {
		err = errors.Join(err, s.in.Release(), s.sess.Close())
	}
	return within(g, func() error { return err })
}

// serve runs the clients, whose requests are calls of f.
func serve(rng *rand.Rand, servers []server, f func(*rand.Rand, *server) error) error {
	var all sync.WaitGroup
	errs := make([]error, clients)
	for i := range clients {
		own := rand.New(rand.NewPCG(rng.Uint64(), uint64(i)))
		all.Go(func() {
			for range requests {
				if errs[i] = f(own, &servers[own.IntN(len(servers))]); errs[i] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// request is one run: its outputs are right, or it ends as its client has given up.
func request(rng *rand.Rand, g *graphs.Graph, s *server) error {
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	givesUp := rng.IntN(3) == 0
	if givesUp {
		defer time.AfterFunc(time.Duration(rng.IntN(500))*time.Microsecond, func() { stop(errGivenUp) }).Stop()
	}
	out, err := s.sess.Run(ctx, s.in)
	switch {
	case givesUp && errors.Is(err, errGivenUp):
		return nil
	case err != nil:
		return fmt.Errorf("Run: %w", err)
	}
	return errors.Join(compareAll(g, out), out.Release())
}
