package dialect

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"vramsoak/parser/dialect/failure"
	"vramsoak/parser/dialect/serving"
	"vramsoak/parser/dialect/smi"
	"vramsoak/parser/dialect/soaklog"
	"vramsoak/parser/dialect/table"
	"vramsoak/parser/scan"
	"vramsoak/parser/strictyaml"
)

// User is a dialect that a user wrote, in the same form as an entry of programs.yaml.
type User = table.Program

// written are the dialects that are written in Go. If several have the same needle, the first one
// in the list tries the line first.
var written = []*scan.Dialect{
	&soaklog.Harness,
	&soaklog.Pipeline,
	&transcriptionDialect,
	&batchMonitorDialect,
	&trainingDialect,
	&longBatchDialect,
	&ganTrainingDialect,
	&rmmDialect,
	&serving.TensorRT,
	&tensorflowDialect,
	&failure.OutOfMemory,
	&failure.Crash,
	&smi.CSV,
	&smi.Table,
	&smi.Dmon,
	&smi.Gpustat,
	&smi.ROCm,
	&serving.VLLM,
	&serving.SGLang,
	&serving.GGML,
	&serving.Ollama,
	&serving.ComfyUI,
	&deepspeedDialect,
	&peftDialect,
	&yoloDialect,
	&memorySummaryDialect,
	&memoryStatsDialect,
	&torchPrintDialect,
	&axolotlDialect,
	&torchtuneDialect,
	&composerDialect,
	&printDialect,
}

// BuiltIn returns the built-in dialects: first those written in Go, then one dialect for each line
// of programs.yaml. The lines of one program are dialects of the same name.
var BuiltIn = sync.OnceValue(func() []*scan.Dialect {
	all := slices.Clone(written)
	for _, e := range entries() {
		all = append(all, e.dialects()...)
	}
	return all
})

// Names returns the names of the built-in dialects. A program appears once, even if it has lines in
// programs.yaml and blocks that are read in Go.
func Names() []string {
	var names []string
	for _, d := range written {
		names = append(names, d.Name)
	}
	for _, e := range entries() {
		if !slices.Contains(names, e.name) {
			names = append(names, e.name)
		}
	}
	return names
}

// UnknownError returns the error for a name that no dialect has. The parameter user lists the names
// of the user's dialects.
func UnknownError(name string, user []string) error {
	expected := `one of the dialects that "vramsoak dialects" lists`
	if len(user) > 0 {
		expected += ", or of your own (" + strings.Join(user, ", ") + ")"
	}
	return fmt.Errorf("expected %s, found %q%s", expected, name,
		strictyaml.Meant(name, append(user, Names()...)))
}
