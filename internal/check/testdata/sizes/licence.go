// A file without licence. // want "the file does not begin with its licence identifier"

package sizes
