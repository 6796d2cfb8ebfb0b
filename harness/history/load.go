package history

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"vramsoak/harness/check"
	"vramsoak/harness/waiver"
)

// A History holds the measurements of a suite's runs, in the order of their start. A judgement uses
// nothing else.
type History struct {
	Suite    string
	Runs     []Entry
	Series   []Series
	Accepted []Acceptance
}

// A Series holds one statistic of one metric over the runs, with a value for each run that has the
// metric.
type Series struct {
	SeriesKey
	Unit           string // a unit of [check.Metric], or [check.BytesPerFile]
	HigherIsBetter bool
	Resolution     float64   // the largest resolution of all values: see [check.Metric]
	Runs           []int     // indexes in History.Runs of the runs with a value
	Values         []float64 // one value for each of Runs
}

// A SeriesKey identifies a series.
type SeriesKey struct {
	Metric    string
	Statistic string
	Rank      int
	Device    int
}

// String returns the name of a series for people: "peak, worst". It includes the rank and the
// device unless they are 0, and leaves out an empty statistic.
func (k SeriesKey) String() string {
	s := k.Metric
	if k.Statistic != "" {
		s += ", " + k.Statistic
	}
	if k.Rank > 0 {
		s += fmt.Sprintf(", rank %d", k.Rank)
	}
	if k.Device > 0 {
		s += fmt.Sprintf(", device %d", k.Device)
	}
	return s
}

// An Acceptance records that a person accepted a regression: it is the waiver of that regression.
type Acceptance struct {
	SeriesKey
	Run  int64   // the first bad run
	Step float64 // how much worse the runs got, in the series' unit
	At   time.Time
	// Waiver has the person's reason, which may be "", and the last day. A run that started on a
	// later day fails again.
	Waiver waiver.Waiver
}

// Load returns the history of a suite: its runs, the series of its metrics, and the accepted
// regressions.
func (s *Store) Load(ctx context.Context, suite string) (*History, error) {
	h := &History{Suite: suite}
	var err error
	if h.Runs, err = s.List(ctx, suite); err != nil {
		return nil, err
	}
	index := map[int64]int{}
	for i, r := range h.Runs {
		index[r.ID] = i
	}
	type row struct {
		run int64
		scalar
	}
	rows, err := query(ctx, s, func(rows *sql.Rows) (r row, err error) {
		err = rows.Scan(&r.run, &r.metric, &r.statistic, &r.rank, &r.device, &r.unit, &r.higherIsBetter,
			&r.resolution, &r.value)
		return r, err
	}, `SELECT v.run_id, v.metric, v.statistic, v.rank, v.device, v.unit, v.higher_is_better,
		v.resolution, v.value
		FROM vramsoak_values v JOIN vramsoak_runs r ON r.id = v.run_id
		WHERE r.suite = $1 ORDER BY r.started, r.id`, text(suite))
	if err != nil {
		return nil, err
	}
	series := map[SeriesKey]*Series{}
	for _, r := range rows {
		i, known := index[r.run]
		if !known { // another program added the run after the runs were read
			continue
		}
		key := SeriesKey{r.metric, r.statistic, r.rank, r.device}
		if series[key] == nil {
			series[key] = &Series{SeriesKey: key, Unit: r.unit, HigherIsBetter: r.higherIsBetter}
		}
		one := series[key]
		one.Resolution = max(one.Resolution, r.resolution)
		one.Runs = append(one.Runs, i)
		one.Values = append(one.Values, r.value)
	}
	for _, one := range series {
		h.Series = append(h.Series, *one)
	}
	slices.SortFunc(h.Series, func(a, b Series) int { return a.compare(b.SeriesKey) })
	h.Accepted, err = s.accepted(ctx, suite)
	return h, err
}

// compare compares two series by their order in reports: first the memory metrics of whole files,
// then the others by name.
func (k SeriesKey) compare(other SeriesKey) int {
	return cmp.Or(
		cmp.Compare(importance(k.Metric), importance(other.Metric)), cmp.Compare(k.Metric, other.Metric),
		cmp.Compare(slices.Index(Statistics, k.Statistic), slices.Index(Statistics, other.Statistic)),
		cmp.Compare(k.Rank, other.Rank), cmp.Compare(k.Device, other.Device),
	)
}

func importance(metric string) int {
	first := []string{
		check.Peak, check.PeakReserved, check.IdleLevel, check.UnusedReserve,
		check.DarkMemory, check.DeviceUsed, check.PinnedMemory,
	}
	if i := slices.Index(first, metric); i >= 0 {
		return i
	}
	return len(first)
}

func (s *Store) accepted(ctx context.Context, suite string) ([]Acceptance, error) {
	return query(ctx, s, func(rows *sql.Rows) (a Acceptance, err error) {
		at := int64(0)
		err = rows.Scan(&a.Run, &a.Metric, &a.Statistic, &a.Rank, &a.Device, &a.Step, &at,
			&a.Waiver.Reason, &a.Waiver.Until)
		a.At = time.UnixMicro(at).UTC()
		return a, err
	}, `SELECT a.run_id, a.metric, a.statistic, a.rank, a.device, a.step, a.accepted, a.note, a.until
		FROM vramsoak_accepted a JOIN vramsoak_runs r ON r.id = a.run_id
		WHERE r.suite = $1 ORDER BY a.id`, text(suite))
}

// Accept stores acceptances: all of them or, after an error, none. If a regression was accepted
// before, Accept replaces that acceptance by one with a larger step, or by one that ends later.
func (s *Store) Accept(ctx context.Context, all []Acceptance) error {
	err := inTransaction(ctx, s.db, s.backend, func(tx *sql.Tx) error {
		for _, a := range all {
			_, err := tx.ExecContext(ctx, `INSERT INTO vramsoak_accepted
				(run_id, metric, statistic, rank, device, step, accepted, note, until)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
				ON CONFLICT (run_id, metric, statistic, rank, device)
				DO UPDATE SET step = excluded.step, accepted = excluded.accepted, note = excluded.note,
					until = excluded.until
				WHERE excluded.step > vramsoak_accepted.step OR vramsoak_accepted.until <> '' AND
					(excluded.until = '' OR excluded.until > vramsoak_accepted.until)`,
				a.Run, a.Metric, a.Statistic, a.Rank, a.Device, a.Step, a.At.UnixMicro(),
				text(a.Waiver.Reason), a.Waiver.Until)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return s.fail("nothing was accepted", err)
	}
	return nil
}

// Until returns the history as it was when the run with this number was the newest one.
func (h *History) Until(run int64) (*History, error) {
	last := slices.IndexFunc(h.Runs, func(e Entry) bool { return e.ID == run })
	if last < 0 {
		return nil, fmt.Errorf("suite %s has no run %d; vramsoak history list shows those that it has",
			h.Suite, run)
	}
	out := &History{Suite: h.Suite, Runs: h.Runs[:last+1], Accepted: h.Accepted}
	for _, s := range h.Series {
		n, _ := slices.BinarySearch(s.Runs, last+1)
		if s.Runs, s.Values = s.Runs[:n], s.Values[:n]; n > 0 {
			out.Series = append(out.Series, s)
		}
	}
	return out, nil
}
