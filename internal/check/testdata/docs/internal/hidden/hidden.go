// SPDX-License-Identifier: Apache-2.0

package hidden

func Exported() {}
