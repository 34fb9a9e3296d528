// SPDX-License-Identifier: Apache-2.0

// Command command has one comment, which is all that a command needs.
package main

func Exported() {}

func main() {}
