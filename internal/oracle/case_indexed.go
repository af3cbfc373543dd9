package oracle

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// indicesString is the part of a take's or a put's name from its indices on.
func (c Case) indicesString() string {
	by := make([]string, len(c.By))
	for i, x := range c.By {
		by[i] = join([]int64{x.Offset, x.Extent, x.Stride}, ":")
		if x.OutOfRange != layout.OutOfRangeError {
			by[i] += ":" + x.OutOfRange.String()
		}
	}
	name := fmt.Sprintf("/at=%s/%v/by=%s/wrong=%d", written(c.At), c.AtType, strings.Join(by, ","), c.Wrong)
	if c.Op == OpPut {
		name += "/" + c.Reduction.String()
	}
	if c.Once {
		name += "/once"
	}
	return name
}

// parseIndices reads the same.
func (c *Case) parseIndices(words []string, dims []int64) (err error) {
	if c.At, err = parseLayout(words[0], "at=", dims); err != nil {
		return err
	}
	if c.AtType, err = layout.ParseDType(words[1]); err != nil {
		return err
	}
	list, ok := strings.CutPrefix(words[2], "by=")
	count, ok2 := strings.CutPrefix(words[3], "wrong=")
	if !ok || !ok2 {
		return errors.New("not of the form by=offset:extent:stride,.../wrong=n")
	}
	for word := range strings.SplitSeq(list, ",") {
		x, err := parseIndex(word)
		if err != nil {
			return err
		}
		c.By = append(c.By, x)
	}
	if c.Wrong, err = strconv.Atoi(count); err == nil && c.Wrong < 0 {
		err = fmt.Errorf("%d elements with an index out of range", c.Wrong)
	}
	if err == nil && c.Op == OpPut {
		c.Reduction, err = device.ParseReduction(words[4])
	}
	return err
}

// parseIndex reads an index as it is written: 0:7:5, or 0:7:5:skip.
func parseIndex(word string) (x layout.Index, err error) {
	parts := strings.Split(word, ":")
	if len(parts) == 4 {
		policies := []layout.OutOfRange{layout.OutOfRangeSkip, layout.OutOfRangeClamp, layout.OutOfRangeClampZero, layout.OutOfRangeStrict}
		i := slices.IndexFunc(policies, func(p layout.OutOfRange) bool { return p.String() == parts[3] })
		if i < 0 {
			return x, fmt.Errorf("%q: an index out of range is an error, unless skip, clamp or clampzero is named", word)
		}
		x.OutOfRange, parts = policies[i], parts[:3]
	}
	numbers, err := split(strings.Join(parts, ":"), ":")
	if err != nil || len(numbers) != 3 {
		return x, fmt.Errorf("%q is not of the form offset:extent:stride", word)
	}
	x.Offset, x.Extent, x.Stride = numbers[0], numbers[1], numbers[2]
	return x, nil
}
