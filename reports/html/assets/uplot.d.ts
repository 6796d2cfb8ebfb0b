// The part of uPlot that the page uses.
declare const uPlot: any;
