package sink

import "strings"

var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "|", `\|`, "*", `\*`, "_", `\_`, "~", `\~`, "[", `\[`, "]", `\]`, "!",
	`\!`,
	"&", "&amp;", "<", "&lt;", ">", "&gt;",
	"@", "@\u2060", "#", "#\u2060", // so that a name in a log notifies nobody and links to no issue
)

// Markdown returns text that Markdown shows literally, in one line or in a cell of a table.
func Markdown(s string) string { return markdownEscapes.Replace(Line(s)) }
