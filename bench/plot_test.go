// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/informerkit/informer/bench/mirror"
)

func TestPlot(t *testing.T) {
	drawn := svg([]row{
		{Work: "faster & <smaller>", Ours: 1, ClientGo: 20},
		{Work: "slower", Ours: 2, ClientGo: 1},
		{Work: "more is better", Ours: 50, ClientGo: 10, Least: true},
		{Work: "no peer", Ours: 1},
	})
	decoder := xml.NewDecoder(strings.NewReader(drawn))
	for {
		if _, err := decoder.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]int{">20<": 1, ">0.5<": 1, ">5<": 1, "no peer": 0, "#c0504d": 1} {
		if got := strings.Count(drawn, text); got != want {
			t.Errorf("%d times %q, want %d", got, text, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 0.0064: "0.0064", 0.5: "0.5", 1.25: "1.25", 5: "5", 20: "20", 14.46: "14.5", 250.2: "250", 1234567: "1,234,567"} {
		if got := number(x); got != want {
			t.Errorf("%v is %s, want %s", x, got, want)
		}
	}
}

func TestGoals(t *testing.T) {
	for _, test := range []struct {
		row  row
		met  bool
		goal string
	}{
		{atMost(0.5, row{Ours: 4, ClientGo: 10}), true, "≤ 0.5"},
		{atMost(0.3, row{Ours: 4, ClientGo: 10}), false, "≤ 0.3"},
		{atLeast(3, row{Ours: 40, ClientGo: 10}), true, "≥ 3"},
		{atLeast(5, row{Ours: 40, ClientGo: 10}), false, "≥ 5"},
		{within(2, row{Ours: 3, Unit: "MB"}), false, "≤ 2 MB"},
		{relistedRows("", 0, [2][]mirror.Relisted{{{Delivered: 0}}, {{}}})[2], true, "0"},
		{relistedRows("", 100, [2][]mirror.Relisted{{{Delivered: 99}}, {{}}})[2], false, "100"},
	} {
		cells := test.row.cells()
		if test.row.Met != test.met || cells[5] != test.goal || (cells[6] == "yes") != test.met {
			t.Errorf("%+v prints %q", test.row, cells)
		}
	}
}
