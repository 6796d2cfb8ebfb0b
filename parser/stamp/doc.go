// Package stamp finds the time in a line of a log. The time may stand before the message, or after
// a key of a JSON or logfmt line, with or without a date, a year and a zone.
package stamp
