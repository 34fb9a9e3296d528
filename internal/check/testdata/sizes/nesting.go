// SPDX-License-Identifier: Apache-2.0

package sizes

func three(values []int) {
	for range values {
		switch {
		case true:
			if len(values) > 0 {
				println("the third level may be there")
			}
		}
	}
}

func four(ch chan int) {
	for {
		select {
		case <-ch:
			if true {
				for range 3 { // want "four nests statements more than 3 deep here"
					if true {
						println("said once")
					}
				}
			} else {
				switch { // want "four nests statements more than 3 deep here"
				}
			}
		}
	}
}

func chain(n int) {
	for {
		for {
			if n == 1 {
				println(1)
			} else if n == 2 {
				println(2)
			} else if n == 3 {
				println(3)
			} else {
				println("else")
			}
		}
	}
}

func chainTooDeep(n int) {
	for {
		for {
			if n == 1 {
				println(1)
			} else if n == 2 {
				if true { // want "chainTooDeep nests statements more than 3 deep here"
					println(2)
				}
			}
		}
	}
}

func literal() {
	for {
		for {
			if true {
				func() {
					for {
						if true {
							for {
								if true { // want "literal nests statements more than 3 deep here"
								}
							}
						}
					}
				}()
			}
		}
	}
}

func inCondition() {
	for {
		for {
			if ok := func() bool {
				if true {
					return true
				}
				return false
			}(); ok {
				println(ok)
			}
		}
	}
}
