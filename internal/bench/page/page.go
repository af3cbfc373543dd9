// Package page shows a benchmark's report as one self-contained HTML file: no network, no
// server, and readable without script.
//
// It opens with the part of its roof that a device reaches, and the layouts and widths at which
// it does not. Figures are SVG, drawn by gonum/plot, or tables and boxes. Their colours come
// from the page's style, so that they follow its dark mode, and can be printed.
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

// policy lets the page run its own script, and load nothing. Strings of a report are escaped;
// even an unescaped one would not run.
func policy() string {
	sum := sha256.Sum256([]byte(script))
	return "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src 'unsafe-inline'; " +
		"script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Write writes the page of a report. Missing figures are not shown, nor are figures that are
// not positive.
func Write(w io.Writer, r *report.Report) error {
	if r == nil {
		return errors.New("page: no report")
	}
	return tmpl.Execute(w, newView(r))
}
