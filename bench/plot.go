// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
)

// The plot has a line for each row with a peer: how many times better than client-go.
const (
	plotText   = 470  // width of the names
	plotBars   = 430  // of the bars
	plotLine   = 20   // height of a row
	plotTop    = 46   // of the heading
	plotDecade = 4    // decades on the axis, from a tenth on
	plotLeast  = -1.0 // log10 at the left end
)

// plot reads rows from a JSON file and draws them as SVG.
func plot(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	var rows []row
	if err := json.Unmarshal(data, &rows); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	return os.WriteFile(to, []byte(svg(rows)), 0o644)
}

// better returns by which factor ours is better; false: there is nothing to compare.
func (r row) better() (float64, bool) {
	switch {
	case r.Ours <= 0 || r.ClientGo <= 0:
		return 0, false
	case r.Least:
		return r.Ours / r.ClientGo, true
	}
	return r.ClientGo / r.Ours, true
}

func svg(rows []row) string {
	var b strings.Builder
	y := plotTop
	for _, r := range rows {
		factor, ok := r.better()
		if !ok {
			continue
		}
		bar(&b, r.Work, factor, y)
		y += plotLine
	}
	height := y + 10
	head := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n",
		plotText+plotBars+80, height)
	return head + `<rect width="100%" height="100%" fill="white"/>` + "\n" + axis(height) + b.String() + "</svg>\n"
}

// axis is logarithmic: a hundred times better is twice as far as ten times.
func axis(height int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<text x="%d" y="16" font-weight="bold">times better than client-go (left of 1: worse)</text>`+"\n", plotText)
	for decade := range plotDecade + 1 {
		power := plotLeast + float64(decade)
		x := at(power)
		fmt.Fprintf(&b, `<line x1="%.0f" y1="%d" x2="%.0f" y2="%d" stroke="#ccc"/>`+"\n", x, plotTop-8, x, height-6)
		fmt.Fprintf(&b, `<text x="%.0f" y="%d" text-anchor="middle" fill="#666">%s</text>`+"\n", x, plotTop-12, number(math.Pow(10, power)))
	}
	return b.String()
}

// at returns where a power of ten lies; what is off the axis lies at its end.
func at(power float64) float64 {
	power = min(max(power, plotLeast), plotLeast+plotDecade)
	return plotText + plotBars*(power-plotLeast)/plotDecade
}

func bar(b *strings.Builder, work string, factor float64, y int) {
	one, x, color := at(0), at(math.Log10(factor)), "#2a7ab0"
	if factor < 1 {
		color = "#c0504d"
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", plotText-8, y+13, escaped.Replace(work))
	fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", min(one, x), y+3, max(math.Abs(x-one), 1), plotLine-6, color)
	fmt.Fprintf(b, `<text x="%.1f" y="%d">%s</text>`+"\n", max(one, x)+4, y+14, number(factor))
}

var escaped = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
