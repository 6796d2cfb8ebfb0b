//go:build !amd64

package parser

const hasTeddy = false

func teddy([]byte, *teddyTables) (at int, found bool) { return 0, false }
