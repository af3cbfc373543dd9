package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/quote"
)

func newDevices() *cobra.Command {
	return &cobra.Command{
		Use:        "devices",
		SuggestFor: []string{"gpus", "list"},
		Short:      "List the devices of this machine",
		Args:       takesNone,
		RunE: func(cmd *cobra.Command, _ []string) error {
			infos, err := device.List()
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "DEVICE\tKIND\tMEMORY\tNAME\tDRIVER")
			for _, i := range infos {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", i.ID(), i.Kind, byteSize(i.Memory), quote.Text(i.Name), quote.Text(i.Driver))
			}
			if err := w.Flush(); err != nil {
				return err
			}
			if err != nil { // a backend without devices is reported, but is not a failure
				for line := range strings.Lines(err.Error()) {
					fmt.Fprintf(cmd.OutOrStdout(), "no %s\n", quote.Text(strings.TrimSpace(line)))
				}
			}
			return nil
		},
	}
}

// byteSize formats a number of bytes for people.
func byteSize(bytes int64) string {
	const units = "KMGTPE"
	if bytes < 1024 {
		return fmt.Sprintf("%d B", bytes)
	}
	v, unit := float64(bytes)/1024, 0
	for v >= 1024 {
		v /= 1024
		unit++
	}
	return fmt.Sprintf("%.1f %ciB", v, units[unit])
}
