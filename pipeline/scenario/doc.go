// Package scenario reads pipelines that are written down: the YAML file that simulate and validate take.
package scenario
