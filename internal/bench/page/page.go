// Package page shows a benchmark's report as one HTML file that needs nothing
// else: no network, no server, and no script to be read.
//
// It opens with what part of its roof a device reaches, and at which layouts and widths it
// does not. Figures are SVG, drawn by gonum/plot, or tables and boxes. Their colours come
// from the page's style, so that they are dark where the page is, and can be printed.
package page

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"html/template"
	"io"

	"github.com/restride/restride/internal/bench/report"
)

var (
	//go:embed page.tmpl
	body string
	//go:embed page.css
	style string
	//go:embed page.js
	script string
)

var tmpl = template.Must(template.New("page").Funcs(template.FuncMap{
	"style":  func() template.CSS { return template.CSS(style) },
	"script": func() template.HTML { return template.HTML("<script>" + script + "</script>") },
	"policy": policy,
}).Parse(body))

// policy lets the page run our one script, and load nothing. Strings of a report are
// escaped; were one not, it still would not run.
func policy() string {
	sum := sha256.Sum256([]byte(script))
	return "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src 'unsafe-inline'; " +
		"script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Write writes the page of a report. What a report lacks is not shown, nor are figures
// that are not positive.
func Write(w io.Writer, r *report.Report) error {
	if r == nil {
		return errors.New("page: no report")
	}
	return tmpl.Execute(w, newView(r))
}
