// SPDX-License-Identifier: Apache-2.0

// A comment that is none for a package.
package nopackage
