package sink

import "strings"

var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "|", `\|`, "*", `\*`, "_", `\_`, "~", `\~`, "[", `\[`, "]", `\]`, "!", `\!`,
	"&", "&amp;", "<", "&lt;", ">", "&gt;",
	"@", "@\u2060", "#", "#\u2060", // a name in a log notifies nobody and links to no issue
)

// Markdown returns text that shows as it is in one line of a summary or a comment, or in a cell of
// its tables.
func Markdown(s string) string { return markdownEscapes.Replace(Line(s)) }
