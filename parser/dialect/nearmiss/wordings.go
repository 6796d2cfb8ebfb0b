package nearmiss

// A wording is a set of words, in lower case, and what they add to a score.
type wording struct {
	words []string
	score int
}

// wordings judge a line, beside its words for the GPU and for memory. Words for host
// memory, and for estimates, lower the score.
var wordings = []wording{
	{[]string{"before", "after", "之前", "之后", "之後"}, 1},
	{[]string{
		"limit", "required", "estimated", "estimate", "expected",
	}, -3},
	{[]string{
		"ram", "cpu", "rss", "host", "disk", "swap", "heap", "jvm", "size", "file", "download",
		"downloading", "downloaded", "saved", "bandwidth",
	}, -5},
}
