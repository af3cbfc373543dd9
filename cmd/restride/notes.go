package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/quote"
)

// notes are what devices have noticed that a command has told: each once.
type notes map[string]bool

func (n notes) tell(cmd *cobra.Command, dev device.Device) {
	noter, ok := device.As[device.Noter](dev)
	if !ok {
		return
	}
	for _, note := range noter.Notes() {
		if !n[note] {
			n[note] = true
			fmt.Fprintf(cmd.ErrOrStderr(), "restride: note: %s\n", quote.Text(note))
		}
	}
}
