// SPDX-License-Identifier: Apache-2.0

// Command bench measures this library beside client-go. Each side runs in processes of
// its own, in turn, with its default options and the same objects, and each figure is the
// median of all runs.
//
//	go run .          everything, minutes
//	go run . -quick   a tenth of the size, and bench/quick.json
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"text/tabwriter"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) > 1 && os.Args[1] == "mirror" {
		exit(mirror(ctx, os.Args[2:], os.Stdout))
	}
	quick := flag.Bool("quick", false, "a tenth of the size, and write quick.json")
	flag.Parse()
	exit(run(ctx, *quick, os.Stdout))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// size is how much a run measures.
type size struct {
	objects int
	runs    int
}

func run(ctx context.Context, quick bool, out io.Writer) error {
	s := size{objects: 100_000, runs: 3}
	if quick {
		s = size{objects: 10_000, runs: 3}
	}
	rows, err := restRows(ctx, s)
	if err != nil {
		return err
	}
	if !quick {
		million, err := millionRow(ctx)
		if err != nil {
			return err
		}
		rows = append(rows, million)
	}
	if err := printTable(out, rows); err != nil {
		return err
	}
	if quick {
		return writeJSON("quick.json", rows)
	}
	return writeJSON("full.json", rows)
}

// row is one figure of the comparison.
type row struct {
	Work     string  `json:"work"`
	Ours     float64 `json:"ours"`
	ClientGo float64 `json:"clientgo"` // 0: no peer has it
	Unit     string  `json:"unit"`
	Ratio    float64 `json:"ratio"` // ours to client-go's; 0 for an absolute goal
	Goal     float64 `json:"goal"`  // of the ratio, or of ours where there is no peer; 0: none
	Met      bool    `json:"met"`
}

func printTable(out io.Writer, rows []row) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "work\tours\tclient-go\tunit\tratio\tgoal\tmet\t")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%.1f\t%.1f\t%s\t%.2f\t%.2f\t%v\t\n", r.Work, r.Ours, r.ClientGo, r.Unit, r.Ratio, r.Goal, r.Met)
	}
	return w.Flush()
}

func writeJSON(path string, rows []row) error {
	data, err := json.MarshalIndent(rows, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}
