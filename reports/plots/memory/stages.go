package memory

// dropHidden drops the stages whose colour would not be seen: later stages cover them, as they do
// with a stage "File" around all others, or they are narrower than a pixel. The legend then shows
// exactly the colours that are in the picture.
func (p *picture) dropHidden() {
	const perPixel = 4
	painted := make([]int, perPixel*max(1, p.columns)) // the name that each place shows, from 1
	at := func(x float64) int {
		return min(len(painted), max(0, int(x/p.clock.end*float64(len(painted))+0.5)))
	}
	for _, s := range p.stages {
		for i := at(s.from); i < at(s.to); i++ {
			painted[i] = s.index + 1
		}
	}
	widest := make([]int, len(p.names)+1)
	for from, to := 0, 0; from < len(painted); from = to {
		for to = from; to < len(painted) && painted[to] == painted[from]; {
			to++
		}
		widest[painted[from]] = max(widest[painted[from]], to-from)
	}
	shown := make([]int, len(p.names)) // the new index of each name, from 1
	var names []string
	for i, name := range p.names {
		if widest[i+1] >= perPixel {
			names = append(names, name)
			shown[i] = len(names)
		}
	}
	var stages []span
	for _, s := range p.stages {
		if n := shown[s.index]; n > 0 {
			s.index = n - 1
			stages = append(stages, s)
		}
	}
	p.names, p.stages = names, stages
}
