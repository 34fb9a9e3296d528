// SPDX-License-Identifier: Apache-2.0

package hidden

type Secret struct{ Open int }

func (Secret) Tell() {}
