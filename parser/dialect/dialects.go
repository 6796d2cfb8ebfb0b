package dialect

import (
	"vramsoak/parser/dialect/smi"
	"vramsoak/parser/dialect/soaklog"
	"vramsoak/parser/scan"
)

// BuiltIn are all that are known, those first that are to be tried first where they share a needle.
var BuiltIn = []*scan.Dialect{
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
	&unslothDialect,
	&deepspeedDialect,
	&megatronDialect,
	&fairseqDialect,
	&peftDialect,
	&swinDialect,
	&detrDialect,
	&detectron2Dialect,
	&yoloxDialect,
	&slowfastDialect,
	&openmmlabDialect,
	&yoloDialect,
	&nanotronDialect,
	&colossalaiDialect,
	&memorySummaryDialect,
	&memoryStatsDialect,
	&torchPrintDialect,
	&oumiDialect,
	&hfTrainerDialect,
	&nanoGPTDialect,
	&axolotlDialect,
	&torchtitanDialect,
	&torchtuneDialect,
	&composerDialect,
}

// Names are the names of the dialects that logs are read in.
func Names() []string {
	var names []string
	for _, d := range BuiltIn {
		names = append(names, d.Name)
	}
	return names
}
