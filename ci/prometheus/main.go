// Command prometheus reads OpenMetrics files with Prometheus's own parser. It also checks two rules
// that the parser leaves to others: the series of a metric stand together, and the times of a series
// rise. For each file it prints how many metrics and points it found.
//
//	go run -C ci/prometheus . FILE...
//
// It is in a Go module of its own, so that the program does not depend on Prometheus.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
)

func main() {
	code := 0
	for _, path := range os.Args[1:] {
		text, err := os.ReadFile(path)
		if err == nil {
			err = read(path, text)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", path, err)
			code = 1
		}
	}
	os.Exit(code)
}

// read parses a text and prints what it found.
func read(path string, text []byte) error {
	parser := textparse.NewOpenMetricsParser(text, labels.NewSymbolTable())
	families, points := map[string]bool{}, 0
	last := map[string]int64{} // the last time of each series
	current := ""
	for {
		entry, err := parser.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch entry {
		case textparse.EntryType:
			name, _ := parser.Type()
			if families[string(name)] {
				return fmt.Errorf("the series of %s do not stand together", name)
			}
			families[string(name)] = true
		case textparse.EntrySeries:
			_, at, _ := parser.Series()
			var series labels.Labels
			parser.Labels(&series)
			points++
			key := series.String()
			before, again := last[key]
			if again && key != current {
				return fmt.Errorf("the points of %s do not stand together", key)
			}
			if again && (at == nil || *at <= before) {
				return fmt.Errorf("the times of %s do not rise", key)
			}
			current, last[key] = key, 0
			if at != nil {
				last[key] = *at
			}
		}
	}
	fmt.Printf("%s: %d metrics, %d series, %d points\n", path, len(families), len(last), points)
	return nil
}
