package parser

// A dialect is the way in which one program prints its memory. Each stands in a file of its own, with the lines that it
// reads.
type dialect struct {
	// name is what --dialect and the records call it: "deepspeed".
	name string
	// needles are strings of four bytes or more, one of which stands in every line with which a record of the dialect
	// begins. They are how a log is searched, so they should be rare in other text; the case of letters counts.
	needles []string
	// read reads what stands at a needle: l.text[at:] begins with one of needles, and what precedes it may belong to the
	// record too. It adds records to the line and returns the offset in l.text behind what it has read; where the text is
	// not the dialect's it adds nothing and returns 0. It may go on to the lines that follow with l.next; the offset is
	// then one in the line where it ended.
	read func(l *line, at int) (end int)
}

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

// A table is a part of a log whose lines mean nothing without its head: the rows of a CSV file. It stays open to the end
// of the log, and other lines may stand between its rows.
type table interface {
	// row reads a line from its beginning and says whether it is one of the table's.
	row(l *line) bool
}
