package live

// firstLook is the number of files of the first look. Most warm-ups and sawteeth are shorter.
const firstLook = 24

// filesAt returns the number of files at which a look is due, from 1 on: 24, 32, 48, 64, 96, 128
// and so on.
func filesAt(look int) int {
	files := firstLook << ((look - 1) / 2)
	if look%2 == 0 {
		files += files / 3
	}
	return files
}

// lookAt returns the last look that is due when so many files have ended, or 0 if none is.
func lookAt(files int) (look int) {
	for filesAt(look+1) <= files {
		look++
	}
	return look
}
