// Package stamp finds the time that a line of a log gives: in front of the message, in the key of a JSON
// or logfmt line, with or without a date, a year and a zone.
package stamp
