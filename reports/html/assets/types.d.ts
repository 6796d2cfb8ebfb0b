// The data of the page of a snapshot, as snapshot.go and calls.go write them.

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

interface Rectangle {
  x: number;
  y: number;
  w: number;
  h: number;
}
