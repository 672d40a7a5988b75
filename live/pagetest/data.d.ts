// The types of the page's JSON, by the names that docs/page-json.md has, and of
// the profiler's service.
// go test -run Documented ./live -update writes this file from the Go code.

declare namespace Data {
  interface amountPair {
    a: number;
    b: number;
  }
  interface attributeRow {
    key: string;
    value: string;
  }
  interface causeRow extends stateKind {
    took: number;
    function?: string;
    via?: string;
    span?: string;
    by?: partyRow;
    request?: partyRow;
  }
  interface chartFrame {
    name: string;
    kind: string;
  }
  interface chartSpan {
    id: string;
    samples: [number, number, number][];
  }
  interface comparedFunction {
    name: string;
    file?: string;
    line?: number;
    waits?: boolean;
    a: number;
    b: number;
  }
  interface comparedRequest extends requestRow {
    waits: boolean;
    no_waits?: string;
    samples: number;
  }
  interface comparison {
    a: comparedRequest;
    b: comparedRequest;
    median?: number;
    chosen: boolean;
    sentence: string;
    spans: spanDifference[];
    order: number[];
    spansCut: number;
    barsCut: number;
    waits: waitDifference[];
    functions: comparedFunction[];
    functionsCut: number;
    otherEngine: boolean;
    choices: requestRow[];
    choicesCut: number;
  }
  interface concern {
    title: string;
    text: string;
    href?: string;
  }
  interface countRow {
    group: string;
    kind?: string;
    name: string;
    what: string;
    n: number;
    lost?: boolean;
    now?: boolean;
  }
  interface cut {
    rows?: number;
    marks?: number;
    attributes?: number;
    hot?: number;
    waits?: number;
    path?: number;
  }
  interface deathReport extends deathRow {
    started: number;
    words?: string;
    routes: openRoute[];
    requests: openRow[];
    leftOut?: number;
    finished?: number;
    lost?: number;
  }
  interface deathReports {
    reports: deathReport[];
  }
  interface deathRow {
    pid: number;
    kind: string;
    last: number;
    open: number;
    sentence?: string;
  }
  interface difference {
    perRequest: boolean;
    a: profileHead;
    b: profileHead;
    table: functionDifference[];
    tableCut: number;
    nodes: differenceNode[];
    cut: number;
    functions: functionRow[];
  }
  interface differenceNode {
    parent: number;
    function: number;
    self: amountPair;
    total: amountPair;
  }
  interface distribution {
    count: number;
    p50: number;
    p99: number;
    max: number;
  }
  interface failure {
    field?: string;
    error: string;
  }
  interface flameGraph extends profileHead, flameNodes {
    functions: functionRow[];
  }
  interface flameNode {
    parent: number;
    function: number;
    total: number;
    self: number;
  }
  interface flameNodes {
    nodes: flameNode[];
    cut: number;
    cutTime: number;
  }
  interface format {
    format: string;
    name: string;
    use: string;
  }
  interface format {
    format: string;
    name: string;
    use: string;
  }
  interface frameRow {
    function: string;
    file?: string;
    line?: number;
  }
  interface functionDifference {
    function: number;
    self: amountPair;
    total: amountPair;
  }
  interface functionRow {
    name: string;
    kind: string;
    module?: string;
    version?: string;
    file?: string;
    line?: number;
    hotLine?: number;
    self: number;
    total: number;
    samples: number;
  }
  interface functionTable extends profileHead {
    functions: functionRow[];
    cut: number;
    cutSelf: number;
  }
  interface goroutineRow {
    id: number;
    function: string;
    intervals: intervalRow[];
    cut?: number;
  }
  interface groupRow {
    rows: number[];
    count: number;
    below?: number;
    took: number;
    failed?: number;
    slowest: string;
    longest: number;
  }
  interface health {
    concerns: concern[];
    sentence: string;
  }
  interface heatData {
    start: number;
    step: number;
    bounds: number[];
    counts: number[][];
    failed: number[];
  }
  interface hotRow {
    name: string;
    time: number;
  }
  interface intervalRow extends stateKind {
    start: number;
    took: number;
    span: string;
    in?: string;
    stack?: number;
    by?: partyRow;
  }
  interface keptRow extends requestRow {
    reason?: string;
  }
  interface leakReport {
    at: number;
    took: number;
    goroutines: number;
    stacks: leakStack[];
    cut: number;
  }
  interface leakStack {
    goroutines: number;
    span?: string;
    frames: string[];
  }
  interface lossRow {
    group: string;
    kind?: string;
    name?: string;
    what: string;
    n: number;
  }
  interface markRow {
    name: string;
    at: number;
    attributes?: attributeRow[];
  }
  interface openRoute {
    name: string;
    count: number;
    oldest: number;
  }
  interface openRow extends requestRow {
    in?: string;
    inFor?: number;
    crashed?: boolean;
    leftOut?: number;
  }
  interface overview {
    service: string;
    requests: requestRow[];
    slowest: requestRow[];
    kept: keptRow[];
    streams: requestRow[];
    inner?: requestRow[];
    background: requestRow[];
    housekeeping: requestRow[];
  }
  interface pageState {
    instance: string;
    started: number;
    data: string;
    id: string;
    host: string;
    processStarted: number;
    sampledOnly?: boolean;
  }
  interface partyRow {
    goroutine: number;
    function?: string;
    request?: string;
    trace?: string;
    span?: string;
    own?: boolean;
    stack?: number;
  }
  interface pathRow {
    row: number;
    start: number;
    took: number;
  }
  interface profileHead {
    title: string;
    session?: number;
    engine: string;
    interval: number;
    start: number;
    length: number;
    samples: number;
    total: number;
    requests?: number;
    noStack?: number;
    hidden?: string;
  }
  interface recordedRow {
    route: number;
    name: string;
    requests: number;
    samples: number;
    max: number;
  }
  interface requestDetail extends requestRow {
    rows: spanRow[] | null;
    missing?: number;
    cut: cut;
    resource: attributeRow[] | null;
    session?: number;
    engine?: string;
    interval?: number;
    groups?: groupRow[];
    path: pathRow[];
    shares: shareRow[];
    waits?: waitsDetail;
    no_waits?: string;
    inside?: string;
    files: format[];
  }
  interface requestRow {
    trace: string;
    span: string;
    name: string;
    status?: string;
    failed?: boolean;
    start: number;
    took: number;
  }
  interface routeRow {
    route?: string;
    class: string;
    others?: boolean;
    count: number;
    failed: number;
    perSecond: number;
    p50: number;
    p95: number;
    p99: number;
    max: number;
    strip: number[];
    failedIn: number[];
    slowFrom?: number;
    slow?: string;
  }
  interface routesData {
    window: string;
    routes: routeRow[];
    all: routeRow | null;
    health: health | null;
    strays?: strays;
  }
  interface runtimeHistory {
    instance: string;
    every: number;
    maxSamples: number;
    samples: runtimeRow[];
  }
  interface runtimeRow {
    at: number;
    interval: number;
    heap?: number;
    heapGoal?: number;
    memory?: number;
    allocated?: number;
    goroutines?: number;
    gcCycles?: number;
    gcPauses?: distribution;
    latencies?: distribution;
    mutexWait?: number;
    processors?: number;
    cpu?: number;
    cpuUser?: number;
    cpuGC?: number;
    cpuScavenge?: number;
    cpuIdle?: number;
    recorded?: number;
    accepted?: number;
    delivered?: number;
    pending?: number;
    lost: number;
    losses?: lossRow[];
  }
  interface sampleChart {
    session: number;
    engine: string;
    interval: number;
    filtered?: boolean;
    frames: chartFrame[];
    stacks: [number, number][];
    spans: chartSpan[];
    cut: number;
  }
  interface sandwich extends profileHead {
    function: number;
    callers: flameNodes;
    callees: flameNodes;
    functions: functionRow[];
  }
  interface searchAnswer {
    requests: keptRow[];
    more: boolean;
    inMemory: number;
  }
  interface segmentRow extends stateKind {
    start: number;
    took: number;
    wait?: number;
    in?: number;
    by?: number;
  }
  interface segmentTables {
    functions?: string[];
    parties?: partyRow[];
  }
  interface serviceOnly {
    service: string;
  }
  interface sessionContents {
    id: number;
    timelines: number;
    requests: number;
    samples: number;
    routes: recordedRow[];
    cut: number;
    files: format[];
    processFailed?: number;
  }
  interface sessionList {
    refused?: string;
    sessions: sessionRow[];
    leaks: boolean;
    modules?: string[];
    longest?: number;
  }
  interface sessionRow {
    id: number;
    state: string;
    route?: string;
    start: number;
    length: number;
    progress: number;
    sampler?: string;
    entries: number;
    samples: number;
    dropped?: number;
    limit: number;
    cost: number;
  }
  interface shareRow {
    name: string;
    spans: number;
    took: number;
    row: string;
  }
  interface spanBar {
    start: number;
    took: number;
    failed?: boolean;
  }
  interface spanDifference {
    name: string;
    parent: number;
    depth: number;
    a: spanSum;
    b: spanSum;
  }
  interface spanRow {
    id: string;
    depth: number;
    name: string;
    kind: string;
    scope: string;
    orphan?: boolean;
    start: number;
    took: number;
    failed?: boolean;
    error?: string;
    attributes?: attributeRow[];
    marks?: markRow[];
    sampled?: number;
    samples?: number;
    several?: boolean;
    hot?: hotRow[];
    segments?: segmentRow[];
    waits?: waitRow[];
    waits_cut?: number;
  }
  interface spanSum {
    count: number;
    total: number;
    critical: number;
    bars?: spanBar[];
  }
  interface stateKind {
    kind: string;
    class: string;
  }
  interface strayRow {
    what: string;
    function: string;
    count: number;
  }
  interface strays {
    sentence: string;
    places: strayRow[];
  }
  interface waitDifference extends stateKind {
    a: number;
    b: number;
  }
  interface waitRow extends stateKind {
    took: number;
    count: number;
    in?: string;
    by?: partyRow;
  }
  interface waitsDetail extends segmentTables {
    sentence: string;
    dropped?: string;
    causes: causeRow[] | null;
    goroutines: goroutineRow[] | null;
    frames: frameRow[] | null;
    stacks: number[][] | null;
    contradictions?: number;
  }
  interface waitsState {
    status: string;
    until?: number;
    auto?: boolean;
    reason?: string;
    refused?: string;
    results: number;
    pending: number;
    armed: number;
  }
  interface windowSpan {
    id: string;
    segments: segmentRow[];
  }
  interface windowWaits extends segmentTables {
    spans: windowSpan[];
    cut?: number;
  }
  // The events of the stream, by their names. GET data/v1/overview answers with all at once.
  interface events {
    page: pageState;
    requests: overview | serviceOnly;
    routes: routesData;
    sessions: sessionList;
    waits: waitsState;
    counts: countRow[];
    deaths: deathRow[];
    runtime: runtimeHistory;
  }
}

declare namespace Rpc {
  interface StartProfilerArg {
    startMode?: string;
    windowID?: number;
    route?: string;
    sampleInterval?: number;
    modules?: string[];
    wall?: boolean;
    noSamples?: boolean;
    process?: boolean;
    length?: number;
  }
  interface SessionID {
    sessionID?: number;
  }
  interface StopProfilerArg {
    sessionID?: number;
  }
  interface GetSessionArg {
    sessionID?: number;
    limit?: number;
    afterTimelineID?: number;
  }
  interface Session {
    sessionID?: number;
    windowID?: number;
    timelineList?: Timeline[];
    started?: string;
    length?: number;
    stats?: SessionStats;
    more?: boolean;
  }
  interface SessionStats {
    events?: string;
    entries?: string;
    dropped?: string;
    lost?: string;
    samples?: string;
    samplesFull?: boolean;
  }
  interface Timeline {
    timelineID?: number;
    frameID?: number;
    name?: string;
    lane?: number;
    traceID?: string;
    spanID?: string;
    interval?: Interval;
    eventCount?: number;
    sampleCount?: number;
    childCount?: number;
    aggregatedTime?: number;
    aggregatedOverhead?: number;
    title?: string;
    betweenMarks?: boolean;
  }
  interface ReleaseSessionArg {
    sessionID?: number;
  }
  interface Default {
  }
  interface Interval {
    start?: number;
    end?: number;
  }
  interface GetEventsArg {
    sessionID?: number;
    timelineID?: number;
    mode?: string;
    eventID?: number;
    maxDepth?: number;
    eventTypeList?: string[];
    interval?: Interval;
    limit?: number;
    afterEventID?: number;
  }
  interface Events {
    interval?: Interval;
    eventList?: Event[];
    more?: boolean;
  }
  interface Event {
    type?: string;
    time?: number;
    overhead?: number;
    hits?: number;
    interval?: Interval;
    eventID?: number;
    parentEventID?: number;
    childCount?: number;
    aggregatedTime?: number;
    aggregatedOverhead?: number;
    name?: string;
    detail?: Detail[];
  }
  interface Detail {
    key?: string;
    stringValue?: string;
    intValue?: string;
    doubleValue?: number;
    boolValue?: boolean;
  }
  interface ListSessionsArg {
  }
  interface SessionList {
    statusList?: Status[];
  }
  interface WatchSessionArg {
    sessionID?: number;
  }
  interface Status {
    sessionID?: number;
    state?: string;
    route?: string;
    remote?: boolean;
    started?: string;
    length?: number;
    progress?: number;
    sampler?: string;
    entries?: string;
    samples?: string;
    dropped?: string;
    wall?: boolean;
    maxLength?: number;
    cost?: number;
  }
}
