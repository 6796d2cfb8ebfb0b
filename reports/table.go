package reports

import (
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// cutCell cuts a cell to a width in columns of a terminal, with an ellipsis for what is cut.
func cutCell(s string, width int) string {
	if twwidth.Width(s) <= width {
		return s
	}
	return strings.TrimRight(twwidth.Truncate(s, max(0, width-3)), " ") + "..."
}
