package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/restride/restride/quant"
)

func newFormats() *cobra.Command {
	return &cobra.Command{
		Use:   "formats",
		Short: "List the formats of quantised weights that repack knows",
		Args:  takesNone,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, f := range quant.Formats() {
				fmt.Fprintf(cmd.OutOrStdout(), "%-20s %s\n", f.Name, f.About)
			}
			return nil
		},
	}
}
