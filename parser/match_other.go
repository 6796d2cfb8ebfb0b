//go:build !amd64

package parser

const hasTeddy = false

func teddy([]byte, *teddyTables) (at int, set uint8) { return 0, 0 }
