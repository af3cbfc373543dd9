package main

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/spf13/cobra"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/quote"
)

func newVerify() *cobra.Command {
	var name, one string
	var cases int
	var seed uint64
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Compare a device's copies, fills, conversions, takes and puts with the index-walk oracle",
		Long: `Makes random layouts of every element type, runs them on the device, and compares
every bit of the buffers, guard bytes included, with a slow walk over all indices.
A failure names its case and seed; --case NAME --seed SEED runs it again.`,
		Args: takesNone,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			dev, err := device.Open(name)
			if err != nil {
				return err
			}
			defer func() {
				notes{}.tell(cmd, dev)
				err = errors.Join(err, dev.Close())
			}()
			var total tally
			count := func(err error) {
				switch {
				case err == nil:
					total.passed++
				case errors.Is(err, oracle.ErrSkipped):
					total.skipped++
				default:
					total.failed++
					fmt.Fprintf(cmd.OutOrStdout(), "FAIL %s\n", quote.Lines(err.Error()))
				}
			}
			if cmd.Flags().Changed("case") {
				c, err := oracle.ParseCase(one)
				if err != nil {
					return wrongf("--case: %w", quote.Error(err))
				}
				count(oracle.Check(dev, c, seed))
				return total.close(cmd)
			}
			if cases < 1 {
				return wrongf("--cases %d: want at least 1", cases)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %d cases, seed %d\n", dev.Info().ID(), cases, seed)
			rng := rand.New(rand.NewPCG(seed, 0))
			for range cases {
				count(oracle.Check(dev, oracle.Random(rng, oracle.Limits{}), rng.Uint64()))
			}
			return total.close(cmd)
		},
	}
	cmd.Flags().StringVar(&name, "device", "auto", "`DEVICE` to check: \"auto\", \"cpu\", \"opencl:0\", ...")
	cmd.Flags().IntVar(&cases, "cases", 1000, "how many random cases")
	cmd.Flags().Uint64Var(&seed, "seed", 1, "seed of the random cases and their data")
	cmd.Flags().StringVar(&one, "case", "", "run this one `CASE`, as a failure names it")
	return cmd
}
