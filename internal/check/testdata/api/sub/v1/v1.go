// SPDX-License-Identifier: Apache-2.0

package v1

type Meta interface{ Version() string }
