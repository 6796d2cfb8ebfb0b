// Package compare tells whether one run needs more memory, or more time, than another.
package compare
