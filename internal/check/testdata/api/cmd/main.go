// SPDX-License-Identifier: Apache-2.0

package main

func Exported() {}

func main() {}
