// Package dialect knows how programs print their memory. Programs that print lines are described in
// programs.yaml, which package table reads. Those that print blocks or tables are written in Go.
package dialect

import (
	"slices"
	"sync"

	"vramsoak/parser/dialect/smi"
	"vramsoak/parser/dialect/soaklog"
	"vramsoak/parser/dialect/table"
	"vramsoak/parser/scan"
)

// User is a dialect of the user's own. It is what a built-in program of programs.yaml is.
type User = table.Program

// written are the dialects that are written in Go. The first of those that share a needle is tried
// first.
var written = []*scan.Dialect{
	&soaklog.Harness,
	&soaklog.Pipeline,
	&transcriptionDialect,
	&batchMonitorDialect,
	&trainingDialect,
	&longBatchDialect,
	&ganTrainingDialect,
	&rmmDialect,
	&tensorrtDialect,
	&tensorflowDialect,
	&outOfMemoryDialect,
	&crashDialect,
	&smi.CSV,
	&smi.Table,
	&smi.Dmon,
	&smi.Gpustat,
	&smi.ROCm,
	&vllmDialect,
	&sglangDialect,
	&ggmlDialect,
	&ollamaDialect,
	&comfyDialect,
	&deepspeedDialect,
	&fairseqDialect,
	&peftDialect,
	&openmmlabDialect,
	&colossalaiDialect,
	&oumiDialect,
	&hfTrainerDialect,
	&unslothDialect,
	&yoloDialect,
	&memorySummaryDialect,
	&memoryStatsDialect,
	&torchPrintDialect,
	&axolotlDialect,
	&torchtuneDialect,
	&composerDialect,
}

// BuiltIn returns all dialects that are known: those written in Go, and behind them the lines of
// programs.yaml. The lines of a program are dialects of the same name.
var BuiltIn = sync.OnceValue(func() []*scan.Dialect {
	all := slices.Clone(written)
	for _, e := range entries() {
		all = append(all, e.dialects()...)
	}
	return all
})

// Names returns the names of the built-in dialects.
func Names() []string {
	var names []string
	for _, d := range written {
		names = append(names, d.Name)
	}
	for _, e := range entries() {
		names = append(names, e.name)
	}
	return names
}
