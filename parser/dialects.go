package parser

// dialects are all that are known, those first that are to be tried first where they share a needle.
var dialects = []*dialect{
	&ownDialect,
	&protocolDialect,
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
	&nvidiaSMICSVDialect,
	&nvidiaSMIDialect,
	&dmonDialect,
	&gpustatDialect,
	&rocmSMIDialect,
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

// Dialects are the names of the dialects that logs are read in.
func Dialects() []string {
	var names []string
	for _, d := range dialects {
		names = append(names, d.name)
	}
	return names
}
