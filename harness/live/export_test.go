package live

// FilesAt is filesAt, for tests.
func FilesAt(look int) int { return filesAt(look) }
