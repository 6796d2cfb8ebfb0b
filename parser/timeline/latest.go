package timeline

import "time"

// Latest returns the time of the last thing that happened in the logs, or the zero time if the logs
// do not say on which day it was. If a log has the harness's lines, only the harness's times count,
// because the pipeline could print any time.
func (tl *Timeline) Latest() time.Time {
	var latest time.Time
	note := func(t time.Time) {
		if t.Year() >= firstYear && t.After(latest) {
			latest = t
		}
	}
	for i := range tl.Runs {
		run := &tl.Runs[i]
		note(run.Start.Time)
		for _, r := range run.Resumes {
			note(r.Time)
		}
		if run.End != nil {
			note(run.End.Time)
		}
	}
	for i := range tl.Exits {
		note(tl.Exits[i].Time)
	}
	for i := range tl.Samples {
		note(tl.Samples[i].Time)
	}
	for i := range tl.Idles {
		note(tl.Idles[i].Time)
	}
	for _, f := range tl.Files {
		switch {
		case f.Supervised:
			note(f.Start)
		case len(tl.Runs) == 0:
			note(f.End)
		}
	}
	for _, f := range tl.Outside {
		if len(tl.Runs) == 0 {
			note(f.End)
		}
	}
	return latest
}

// firstYear is the first year of a known date. If a log gives no dates, the builder counts its days
// from the year 0.
const firstYear = 1970
