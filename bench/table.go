// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
)

// row is one figure of the comparison.
type row struct {
	Work     string  `json:"work"`
	Ours     float64 `json:"ours"`
	ClientGo float64 `json:"clientgo"` // 0: no peer has it
	Unit     string  `json:"unit"`
	Ratio    float64 `json:"ratio"`           // ours to client-go's; 0 for an absolute goal
	Goal     float64 `json:"goal"`            // of the ratio, or of ours where that is 0
	Least    bool    `json:"least,omitempty"` // the goal is the least, and not the most
	Exact    bool    `json:"exact,omitempty"` // ours has to be the goal
	Met      bool    `json:"met"`
}

// cells are the row as text.
func (r row) cells() []string {
	ratio, goal, verdict := "", "", "yes"
	if r.Ratio != 0 {
		ratio = number(r.Ratio)
	}
	switch {
	case r.Exact:
		goal = number(r.Goal)
	case r.Least:
		goal = "≥ " + number(r.Goal)
	case r.Ratio == 0:
		goal = strings.TrimSpace("≤ " + number(r.Goal) + " " + r.Unit)
	default:
		goal = "≤ " + number(r.Goal)
	}
	if !r.Met {
		verdict = "no"
	}
	return []string{r.Work, number(r.Ours), number(r.ClientGo), r.Unit, ratio, goal, verdict}
}

var header = []string{"work", "ours", "client-go", "unit", "ratio", "goal", "met"}

// number has three digits that count.
func number(x float64) string {
	switch {
	case x == 0:
		return "0"
	case x >= 1000:
		return thousands(int(x + 0.5))
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", x), ".0")
	case x >= 0.1:
		return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", x), "0"), ".")
	}
	return fmt.Sprintf("%.2g", x)
}

func printTable(out io.Writer, rows []row) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(header, "\t"))
	for _, r := range rows {
		fmt.Fprintln(w, strings.Join(r.cells(), "\t"))
	}
	return w.Flush()
}

func writeMarkdown(path string, rows []row) error {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(header)
	b.WriteString("|---|---:|---:|---|---:|---|---|\n")
	for _, r := range rows {
		line(r.cells())
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

func writeJSON(path string, rows []row) error {
	data, err := json.MarshalIndent(rows, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}
