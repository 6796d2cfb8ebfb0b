// Package dialect knows how programs print their memory: one dialect for each program, and those of the
// user's own ([User]).
package dialect
