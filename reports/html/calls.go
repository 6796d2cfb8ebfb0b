package html

import (
	"cmp"
	"slices"
	"strings"

	"vramsoak/parser/snapshot"
)

// A treeData is a tree of calls in preorder, the outermost call first.
type treeData struct {
	Depth  column `json:"depth"`
	Name   column `json:"name"` // index in Names
	Bytes  column `json:"bytes"`
	Blocks column `json:"blocks"`
}

// Calls that hold less than a part of 1/callsShare of the memory are not shown on their own; their
// bytes count for the call around them. callsDeep is how many calls of a stack are shown.
const (
	callsShare = 4000
	callsDeep  = 200
)

// calls is a tree of calls, from the outermost one.
type calls struct{ root *call }

type call struct {
	frame    string
	bytes    int64
	blocks   int64
	children map[string]*call
}

func newCalls() *calls { return &calls{&call{}} }

// add adds a block to all calls of its stack.
func (c *calls) add(stack *snapshot.Stack, traced bool, bytes int64) {
	at := c.root
	at.bytes, at.blocks = at.bytes+bytes, at.blocks+1
	for _, f := range framesOf(stack, traced) {
		next := at.children[f]
		if next == nil {
			next = &call{frame: f}
			if at.children == nil {
				at.children = map[string]*call{}
			}
			at.children[f] = next
		}
		at = next
		at.bytes, at.blocks = at.bytes+bytes, at.blocks+1
	}
}

// framesOf returns the frames of a stack, the outermost first.
func framesOf(stack *snapshot.Stack, traced bool) []string {
	switch {
	case stack == nil && traced:
		return []string{snapshot.Before}
	case stack == nil:
		return []string{snapshot.NoStack}
	}
	frames := stack.Outward(false)
	if len(frames) == 0 {
		return []string{stack.Site().Function} // only C++ frames
	}
	if deep := len(frames) - callsDeep; deep > 0 {
		frames = frames[:callsDeep]
	}
	out := make([]string, 0, len(frames))
	for _, f := range slices.Backward(frames) {
		out = append(out, f.String())
	}
	return out
}

// tree returns the data of a tree without small calls, the largest calls first.
func (p *snapshotPage) tree(c *calls) treeData {
	t := treeData{}
	least := c.root.bytes / callsShare
	var walk func(at *call, depth int64)
	walk = func(at *call, depth int64) {
		children := make([]*call, 0, len(at.children))
		for _, child := range at.children {
			if child.bytes > least {
				children = append(children, child)
			}
		}
		slices.SortFunc(children, func(a, b *call) int {
			return cmp.Or(cmp.Compare(b.bytes, a.bytes), strings.Compare(a.frame, b.frame))
		})
		for _, child := range children {
			t.Depth, t.Name = append(t.Depth, depth), append(t.Name, int64(p.name(child.frame)))
			t.Bytes, t.Blocks = append(t.Bytes, child.bytes), append(t.Blocks, child.blocks)
			walk(child, depth+1)
		}
	}
	walk(c.root, 0)
	return t
}
