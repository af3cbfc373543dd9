// Package cases is the list of cases of package bench: copies, conversions, fills and
// takes between layouts, at any size.
package cases
