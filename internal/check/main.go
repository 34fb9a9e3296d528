// SPDX-License-Identifier: Apache-2.0

// Command check holds the source of this module to its house style: sizes of files, functions and
// interfaces, documentation of every exported name, and the exported API as it is written down in
// api.txt. It prints what breaks a rule as file:line: message, and then exits with status 1.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/informerkit/informer/internal/check/rules"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

type options struct {
	dir         string
	sizes, docs bool
	api         string
}

// run returns the exit status: 0 where every rule is kept, 1 where one is broken, 2 where that
// cannot be said.
func run(args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("check", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.dir, "C", ".", "`directory` of the module")
	flags.BoolVar(&o.sizes, "sizes", false, "check sizes, in the modules inside as well")
	flags.BoolVar(&o.docs, "docs", false, "check that every exported name is documented")
	flags.StringVar(&o.api, "api", "", "`check` api.txt, or write it")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	problems, err := o.check()
	if err != nil {
		fmt.Fprintln(stderr, "check:", err)
		return 2
	}
	if len(problems) == 0 {
		return 0
	}
	rules.Sort(problems)
	for _, problem := range problems {
		fmt.Fprintln(stdout, problem)
	}
	return 1
}

func (o options) check() ([]rules.Problem, error) {
	var problems []rules.Problem
	if o.sizes {
		files, err := rules.Load(o.dir, true)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			problems = append(problems, rules.Sizes(file)...)
		}
	}
	if o.docs {
		files, err := rules.Load(o.dir, false)
		if err != nil {
			return nil, err
		}
		problems = append(problems, rules.Docs(files)...)
	}
	found, err := o.checkAPI()
	return append(problems, found...), err
}

const apiFile = "api.txt"

func (o options) checkAPI() ([]rules.Problem, error) {
	if o.api == "" {
		return nil, nil
	}
	lines, err := rules.API(o.dir)
	if err != nil {
		return nil, err
	}
	name := filepath.Join(o.dir, apiFile)
	switch o.api {
	case "write":
		return nil, os.WriteFile(name, []byte(strings.Join(append(lines, ""), "\n")), 0o644)
	case "check":
		recorded, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		return compare(strings.FieldsFunc(string(recorded), func(r rune) bool { return r == '\n' }), lines), nil
	}
	return nil, fmt.Errorf("-api=%s: it is check or write", o.api)
}

// compare reports what the recorded API has and the code has not, and the other way round.
func compare(recorded, lines []string) []rules.Problem {
	var problems []rules.Problem
	for i, line := range recorded {
		if _, ok := slices.BinarySearch(lines, line); !ok {
			problems = append(problems, rules.Problem{File: apiFile, Line: i + 1, Message: "not in the code: " + line})
		}
	}
	known := slices.Sorted(slices.Values(recorded))
	for _, line := range lines {
		if _, ok := slices.BinarySearch(known, line); !ok {
			problems = append(problems, rules.Problem{File: apiFile, Line: max(1, len(recorded)), Message: "missing, make api writes it: " + line})
		}
	}
	return problems
}
