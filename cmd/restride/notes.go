package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/quote"
)

// notes are the devices' diagnostics that a command has printed, each once.
type notes map[string]bool

func (n notes) tell(cmd *cobra.Command, dev device.Device) {
	if d, ok := device.As[device.Diagnostics](dev); ok {
		d.LogTo(slog.New(noteHandler{n, cmd.ErrOrStderr()}))
		d.LogTo(nil)
	}
}

// noteHandler prints notes, without attributes.
type noteHandler struct {
	told notes
	w    io.Writer
}

func (h noteHandler) Handle(_ context.Context, r slog.Record) error {
	if h.told[r.Message] {
		return nil
	}
	h.told[r.Message] = true
	_, err := fmt.Fprintf(h.w, "restride: note: %s\n", quote.Text(r.Message))
	return err
}

func (noteHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h noteHandler) WithAttrs([]slog.Attr) slog.Handler     { return h }
func (h noteHandler) WithGroup(string) slog.Handler          { return h }
