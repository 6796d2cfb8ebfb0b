// The data of the pages, as the Go program writes them: document.go, trend.go, series.go,
// segments.go, snapshot.go, calls.go, shards.go. And the part of uPlot that the pages use.

/** Values in the order of the log or of the files. A missing value is null. */
type Column = (number | null)[];

/** Columns by quantity: "allocated", "reserved". Those that the log does not have are missing. */
type Columns = Record<string, Column>;

interface LogData {
  name: string;
  timed: boolean;
  origin: number;
  cut: number;
  end: number;
}

interface FileTable {
  path: string[];
  number: number[];
  status: string[];
  error: string[];
  seconds: Column;
  audio: Column;
  log: number[];
  line: number[];
  begin: number[];
  end: number[];
}

interface PointTable {
  x: number[];
  number: number[];
  file: number[];
  line: number[];
  name: number[];
  stage: Column;
  freed: Column;
  failed: number[];
  values: Columns;
}

interface RowTable {
  file: number[];
  idle: Columns;
  highest: Columns;
}

interface SampleTable {
  name: string;
  x: number[];
  value: Column;
  all: number;
}

interface Track {
  log: number;
  label: string;
  total: number;
  digits: Record<string, number>;
  all: number;
  allFiles: number;
  points: PointTable;
  rows: RowTable;
  samples: SampleTable[];
}

interface LogEvent {
  kind: string;
  log: number;
  line: number;
  x: number;
  file: number;
  text: string;
  // Of a failed allocation whose size is known. Otherwise they are 0.
  track: number;
  level: number;
  request: number;
}

interface Trend {
  track: number;
  check: string;
  title: string;
  verdict: string;
  unit: string;
  each: string;
  rate: string;
  all: number;
  x: number[];
  file: number[];
  values: Column;
  fitted: Column;
  low: Column;
  high: Column;
  out: Column;
  scale: number;
  from: number;
  mark: string;
}

interface FindingPlace {
  track: number;
  file: number;
  line: number;
  trend: number;
}

interface MapData {
  name: string;
  number: number;
  line: number;
  file: number;
  requested: number;
  address: number[];
  size: number[];
  count: number[];
  block: number[];
  state: string;
}

interface MapSeries {
  title: string;
  all: number;
  total: number;
  maps: MapData[];
}

interface SeriesLine {
  name: string;
  color: string;
  values: Column;
  dashed: boolean;
  dots: boolean;
}

interface SeriesMark {
  x: number;
  text: string;
  bad: boolean;
}

interface Series {
  title: string;
  verdict: string;
  sign: string;
  note: string;
  unit: string;
  xName: string;
  x: number[];
  at: number[];
  lines: SeriesLine[];
  marks: SeriesMark[];
}

interface Holding {
  title: string;
  bytes: number;
  tree: CallTree;
  sites: Site[];
}

/** A tree of calls in preorder. Each array has one entry for each call. */
interface CallTree {
  depth: number[];
  name: number[];
  bytes: number[];
  blocks: number[];
}

/** A tree of calls with the parent of each call, and where the call begins in bytes. */
interface CallLayout extends CallTree {
  parent: number[];
  from: number[];
}

interface Site {
  name: number;
  bytes: number;
  blocks: number;
  largest: number;
}

interface SnapshotDevice {
  title: string;
  holdings: Holding[];
  segments: number;
}

/** The shards of a run, the worst first. */
interface ShardTable {
  number: number[];
  node: number[];
  state: number[];
  cut: number[];
  files: number[];
  failed: number[];
  peak: Column;
  total: Column;
  seconds: Column;
  title: Column;
  open: number[][];
  folder: string[];
  page: string[];
}

/** The growth of a series in each shard. */
interface GrowthData {
  title: string;
  unit: string;
  limit: number;
  together: string;
  state: Column;
  slope: Column;
  error: Column;
}

/** The data of a page. Each kind of page has only a part of it. */
interface PageData {
  names: string[];
  // The page of a run.
  logs: LogData[];
  files: FileTable;
  tracks: Track[];
  events: LogEvent[];
  trends: Trend[];
  findings: FindingPlace[];
  devices: number;
  // The finding that explains the verdict, or the device that the summary is about.
  lead: number;
  segments: MapSeries[];
  // The page of a history or a comparison.
  labels: string[];
  series: Series[];
  // The page of a snapshot.
  held: SnapshotDevice[];
  // The page of a run of many shards.
  shards: ShardTable;
  nodes: string[];
  states: { name: string; sign: string }[];
  texts: string[];
  growth: GrowthData[];
}

/** A block of a segment map, where it is drawn: at is its offset in the map, in bytes. */
interface Block {
  at: number;
  size: number;
  state: string;
  offset: number;
  segment: { a: number; size: number; count: number; first: number };
}

interface Rectangle {
  x: number;
  y: number;
  w: number;
  h: number;
}

/** What redraws a chart or a canvas, in new colours or at another width. */
interface Drawing {
  redraw: () => void;
  fit: (width: number) => void;
  small?: boolean;
}

declare class uPlot {
  constructor(options: object, data: (number[] | Column)[], where: HTMLElement);
  ctx: CanvasRenderingContext2D;
  bbox: { left: number; top: number; width: number; height: number };
  scales: Record<"x" | "y", { min: number; max: number }>;
  cursor: { idx: number | null | undefined; left: number };
  series: { show: boolean }[];
  root: HTMLElement;
  over: HTMLElement;
  width: number;
  valToPos(value: number, scale: "x" | "y", onCanvas?: boolean): number;
  setScale(scale: "x", range: { min: number; max: number }): void;
  setCursor(place: { left: number; top: number }, callHooks?: boolean): void;
  setSeries(index: number, options: { show: boolean }): void;
  setSize(size: { width: number; height: number }): void;
  redraw(rebuildPaths?: boolean, recalcAxes?: boolean): void;
  destroy(): void;
}
