// Package stamp finds the time in a line of a log. The time may come before the message, or after a
// key of a JSON or logfmt line. It may lack the date, the year or the zone.
package stamp
