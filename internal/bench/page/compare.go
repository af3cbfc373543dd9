package page

import (
	"cmp"
	"slices"
	"strings"
)

// comparison shows devices side by side: the medians of each class, and each case.
type comparison struct {
	Devices []*deviceView
	Classes []compared
	Table   *table
	Sizes   bool // they differ
}

// compared is a class on each device.
type compared struct {
	Name  string
	Cells []share
}

// share is a median part of the roof, with the width of its bar.
type share struct{ Text, Width, Rate string }

func compare(devices []*deviceView) *comparison {
	c := &comparison{Devices: devices, Table: &table{Label: "every case on every device"}}
	type key struct{ class, layout, width, name string }
	var keys []key
	seen := map[key]bool{}
	var names []string
	byKey := make([]map[key]*caseView, len(devices))
	rates := []float64{}
	for i, d := range devices {
		byKey[i] = map[key]*caseView{}
		for _, one := range d.cases {
			k := key{one.Class, one.layout, one.width, one.Name}
			if byKey[i][k] != nil {
				continue
			}
			byKey[i][k] = one
			rates = append(rates, one.gbps)
			if !seen[k] {
				seen[k] = true
				keys = append(keys, k)
			}
			if !slices.Contains(names, k.class) {
				names = append(names, k.class)
			}
		}
	}
	if len(keys) == 0 {
		return nil
	}
	t := c.Table
	t.Classes = names
	first := t.add("case", "a layout, and the width of its elements in bits", false)
	t.add("class", "what is hard about it", false)
	for _, d := range devices {
		t.addGroup(d.Label, "", head{Text: "GB/s", Title: aboutRate}, head{Text: "ratio", Title: aboutRatio})
	}
	first.Sorted = "ascending"
	slices.SortStableFunc(keys, func(a, b key) int {
		return cmp.Or(strings.Compare(a.layout, b.layout), byNumber(a.width, b.width))
	})
	dec := decimals(rates)
	for _, k := range keys {
		r := row{Cells: []cell{text(k.name), text(k.class)}}
		best, shape := 0., ""
		for i := range devices {
			if one := byKey[i][k]; one != nil {
				best = max(best, one.gbps)
				c.Sizes = c.Sizes || shape != "" && one.Case != "" && shape != one.Case
				shape = cmp.Or(one.Case, shape)
			}
		}
		for i := range devices {
			one := byKey[i][k]
			if one == nil {
				one = new(caseView)
			}
			rate := quantity(one.gbps, number(one.gbps, dec))
			if one.gbps > 0 && one.gbps == best {
				rate.Style = "best"
			}
			r.Cells = append(r.Cells, rate, quantity(one.ratio, number(one.ratio, 2)))
		}
		t.Rows = append(t.Rows, r)
	}
	for _, name := range names {
		row := compared{Name: cmp.Or(name, "no class")}
		for _, d := range devices {
			row.Cells = append(row.Cells, d.share(name))
		}
		c.Classes = append(c.Classes, row)
	}
	return c
}

func (d *deviceView) share(class string) share {
	var ratios, rates []float64
	for _, c := range d.cases {
		if c.Class == class {
			ratios, rates = append(ratios, c.ratio), append(rates, c.gbps)
		}
	}
	m := median(ratios)
	s := share{Text: number(m, 2), Width: "0", Rate: none}
	if m > 0 {
		s.Width = px(100 * min(m, 1))
	}
	if r := median(rates); r > 0 {
		s.Rate = short(r) + " GB/s"
	}
	return s
}
